// λ_k of W tridiagonal matrices by Sturm counts, with a super-linear finish once λ_k is alone in its bracket.
#pragma once
#include "kernel.hpp"
#include "simd.hpp"

namespace lambdak::LAMBDAK_ISA {

// T scaled so that no row sum of |entries| exceeds 1.
template <class T> struct Tridiagonal {
  Vec<T>*d, *e, *e2;      // diagonal (n), off-diagonal (n - 1) and its square, kept away from zero
  Vec<T> low, high;       // Gershgorin bounds of the spectrum
  Vec<T> mean, spread;    // mean and standard deviation of the eigenvalues
  Vec<T> unit;            // multiply by this to undo the scaling; 0 for a zero matrix
};


template <class T> struct Point {
  Vec<T> x, f;        // trial point; the characteristic polynomial there is f 2^exponent,
  Int<T> exponent;    // up to a constant that all points of one matrix share
  Int<T> count;       // eigenvalues below x
};

// With |off-diagonals| >= epsilon/8 a pair of neighbouring polynomials cannot vanish together, and shrinks by
// no more than (epsilon/8)² in two steps; so this many steps stay in range when they start at 2^top.
template <class T> inline constexpr int rescale_every = sizeof(T) == 4 ? 8 : 16;
template <class T> inline constexpr int top = sizeof(T) == 4 ? 100 : 800;

template <class T> inline void rescale(Vec<T>& p0, Vec<T>& p1, Int<T>& exponent) {
  using L = Lanes<T>;
  const Int<T> field = (Int<T>(vmax<T>(vabs<T>(p0), vabs<T>(p1))) & splat_int<T>(L::exponent_mask)) >> L::mantissa_bits;
  // Back to 2^top in two steps: from the bottom of the range one factor would overflow.
  const Int<T> lift = splat_int<T>(top<T> + L::exponent_bias) - field, half = lift >> 1;
  const Vec<T> first = power_of_two<T>(half + splat_int<T>(L::exponent_bias));
  const Vec<T> second = power_of_two<T>(lift - half + splat_int<T>(L::exponent_bias));
  p0 = p0 * first * second;
  p1 = p1 * first * second;
  exponent -= lift;
}

// p_i = (d_i - x) p_{i-1} - e²_{i-1} p_{i-2}. The number of sign changes is the number of eigenvalues below x.
template <class T, int U, bool Count>
inline void evaluate(const Tridiagonal<T>* const* t, int n, Point<T>* at) {
  Vec<T> p0[U], p1[U];
  Int<T> exponent[U], count[U];
#pragma GCC unroll 4
  for (int g = 0; g < U; ++g) {
    p0[g] = splat<T>(T(sizeof(T) == 4 ? 0x1p100 : 0x1p800));
    p1[g] = (t[g]->d[0] - at[g].x) * p0[g];
    exponent[g] = Int<T>{};
    count[g] = negative<T>(p1[g]);
  }
  for (int i = 1; i < n;) {
    const int stop = i + rescale_every<T> < n ? i + rescale_every<T> : n;
    for (; i < stop; ++i) {
#pragma GCC unroll 4
      for (int g = 0; g < U; ++g) {
        const Vec<T> next = multiply_subtract<T>(t[g]->d[i] - at[g].x, p1[g], t[g]->e2[i - 1] * p0[g]);
        p0[g] = p1[g];
        p1[g] = next;
        if constexpr (Count) count[g] += negative<T>(Vec<T>(Int<T>(p0[g]) ^ Int<T>(p1[g])));
      }
    }
    if (i < n) {
#pragma GCC unroll 4
      for (int g = 0; g < U; ++g) rescale<T>(p0[g], p1[g], exponent[g]);
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < U; ++g) {
    at[g].f = p1[g];
    at[g].exponent = exponent[g];
    if constexpr (Count) at[g].count = -count[g];
  }
}

// Share of the bracket at which the chord from (a, fa) to (b, fb) crosses zero; the counts replace the
// polynomial while other eigenvalues are in the bracket.
template <class T> inline Vec<T> chord(const Point<T>& a, const Point<T>& b, Int<T> alone, Vec<T> middle) {
  using L = Lanes<T>;
  Int<T> shift = b.exponent - a.exponent;
  const Int<T> most = splat_int<T>(L::exponent_bias - 1);
  shift = select_int<T>(shift > most, most, select_int<T>(shift < -most, -most, shift));
  const Vec<T> fb = b.f * power_of_two<T>(shift + splat_int<T>(L::exponent_bias));
  const Vec<T> na = __builtin_convertvector(a.count, Vec<T>) - middle;
  const Vec<T> nb = __builtin_convertvector(b.count, Vec<T>) - middle;
  const Vec<T> left = select<T>(alone, a.f, na), right = select<T>(alone, fb, nb);
  return left / (left - right);
}

template <class T> struct Search {
  Point<T> a, b;      // count(a) <= k < count(b)
  Int<T> last_side;   // -1 where the last point replaced b
  Int<T> alone;       // λ_k is the only eigenvalue between a and b
  Int<T> open;        // still wider than the tolerance
};

template <class T> inline void narrow(Search<T>& s, const Point<T>& at, int k, bool counted) {
  const Int<T> odd = splat_int<T>(-(k & 1));
  // Alone, the sign of the polynomial decides, whether or not this pass also counted for other lanes.
  const Int<T> below_by_sign = negative<T>(at.f) ^ odd;
  const Int<T> below = select_int<T>(s.alone, below_by_sign, counted ? Int<T>(at.count > splat_int<T>(k)) : below_by_sign);
  const Int<T> to_b = s.open & below, to_a = s.open & ~below;
  const Int<T> count = select_int<T>(s.alone, select_int<T>(below, s.b.count, s.a.count), counted ? at.count : s.a.count);
  // Illinois: an end that stays a second time counts half.
  const Vec<T> half = splat<T>(T(0.5)), one = splat<T>(T(1));
  s.a.f *= select<T>(to_b & (s.last_side == splat_int<T>(-1)), half, one);
  s.b.f *= select<T>(to_a & (s.last_side == splat_int<T>(1)), half, one);
  s.a.x = select<T>(to_a, at.x, s.a.x), s.b.x = select<T>(to_b, at.x, s.b.x);
  s.a.f = select<T>(to_a, at.f, s.a.f), s.b.f = select<T>(to_b, at.f, s.b.f);
  s.a.exponent = select_int<T>(to_a, at.exponent, s.a.exponent), s.b.exponent = select_int<T>(to_b, at.exponent, s.b.exponent);
  s.a.count = select_int<T>(to_a, count, s.a.count), s.b.count = select_int<T>(to_b, count, s.b.count);
  s.last_side = select_int<T>(to_b, splat_int<T>(-1), splat_int<T>(1));
}


template <class T, int U>
void find_eigenvalue(const Tridiagonal<T>* const* t, int n, int k, Guess guess, Vec<T>* lambda) {
  constexpr T tolerance = 2 * Lanes<T>::epsilon;
  const Vec<T> middle = splat<T>(T(k) + T(0.5));
  Search<T> s[U];
  Point<T> at[U];
  Vec<T> step[U];
  for (int g = 0; g < U; ++g) {
    s[g].a = {t[g]->low, Vec<T>{}, Int<T>{}, Int<T>{}};
    s[g].b = {t[g]->high, Vec<T>{}, Int<T>{}, splat_int<T>(n)};
    s[g].last_side = Int<T>{};
    s[g].alone = splat_int<T>(n == 1 ? -1 : 0);
    s[g].open = splat_int<T>(-1);
    at[g].x = t[g]->mean + T(guess.position) * t[g]->spread;
    step[g] = T(guess.spacing) * t[g]->spread;
  }
  bool counting = true, open = true;
  for (int pass = 0; open && pass < 8 * int(sizeof(T)) * 4; ++pass) {
    for (int g = 0; g < U; ++g) {
      const Vec<T> width = s[g].b.x - s[g].a.x, inner = vmin<T>(splat<T>(tolerance), T(0.5) * width);
      at[g].x = vmin<T>(vmax<T>(at[g].x, s[g].a.x + inner), s[g].b.x - inner);
    }
    if (counting)
      evaluate<T, U, true>(t, n, at);
    else
      evaluate<T, U, false>(t, n, at);
    Int<T> lonely = splat_int<T>(-1), unfinished = Int<T>{};
    for (int g = 0; g < U; ++g) {
      Search<T>& here = s[g];
      narrow<T>(here, at[g], k, counting);
      here.alone = (here.a.count == splat_int<T>(k)) & (here.b.count == splat_int<T>(k + 1));
      const Vec<T> width = here.b.x - here.a.x;
      here.open = here.open & Int<T>(width > splat<T>(tolerance));
      Vec<T> share = chord<T>(here.a, here.b, here.alone, middle);
      const Int<T> sound = Int<T>(share > splat<T>(T(0))) & Int<T>(share < splat<T>(T(1)));
      const Int<T> halve = splat_int<T>(pass >= 12 && pass % 2 ? -1 : 0) | (splat_int<T>(pass >= 5 ? -1 : 0) & ~here.alone) | ~sound;
      share = select<T>(halve, splat<T>(T(0.5)), share);
      Vec<T> x = here.a.x + share * width;
      if (pass < 2) {
        const Vec<T> behind = middle - __builtin_convertvector(at[g].count, Vec<T>);
        const Vec<T> jump = at[g].x + step[g] * (behind + with_sign<T>(splat<T>(T(0.5)), behind));
        const Int<T> inside = Int<T>(jump > here.a.x + T(0.01) * width) & Int<T>(jump < here.b.x - T(0.01) * width);
        x = select<T>(inside & ~here.alone, jump, x);
      }
      at[g].x = x;
      lonely = lonely & (here.alone | ~here.open);
      unfinished = unfinished | here.open;
    }
    counting = any<T>(~lonely);
    open = any<T>(unfinished);
  }
  for (int g = 0; g < U; ++g) lambda[g] = s[g].a.x + T(0.5) * (s[g].b.x - s[g].a.x);
}

}  // namespace lambdak::LAMBDAK_ISA
