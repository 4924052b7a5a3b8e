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

// The pair (p_{i-1}, p_i) starts at 2^top and shrinks by no more than (epsilon/8)²/4 in one step, for |off-diagonals| are kept
// at epsilon/8 or more; so for `proven_steps` no rounding below the normal range matters. In float32 pairs are rescaled less
// often, and a search in which one fell below 2^bottom by then, which is rare, is done again with every step proven.
template <class T> inline constexpr int proven_steps = sizeof(T) == 4 ? 4 : 16;
template <class T> inline constexpr int rescale_every = sizeof(T) == 4 ? 8 : 16;
template <class T> inline constexpr int top = sizeof(T) == 4 ? 100 : 800;
template <class T> inline constexpr int bottom = -50;

// The biased exponent of the larger one.
template <class T> inline Int<T> pair_exponent(Vec<T> p0, Vec<T> p1) {
  using L = Lanes<T>;
  return (Int<T>(vmax<T>(vabs<T>(p0), vabs<T>(p1))) & splat_int<T>(L::exponent_mask)) >> L::mantissa_bits;
}

template <class T> inline void rescale(Vec<T>& p0, Vec<T>& p1, Int<T> field, Int<T>& exponent) {
  using L = Lanes<T>;
  // Back to 2^top in two steps: from the bottom of the range one factor would overflow.
  const Int<T> lift = splat_int<T>(top<T> + L::exponent_bias) - field, half = lift >> 1;
  const Vec<T> first = power_of_two<T>(half + splat_int<T>(L::exponent_bias));
  const Vec<T> second = power_of_two<T>(lift - half + splat_int<T>(L::exponent_bias));
  p0 = p0 * first * second;
  p1 = p1 * first * second;
  exponent -= lift;
}

// p_i = (d_i - x) p_{i-1} - e²_{i-1} p_{i-2}. The number of sign changes is the number of eigenvalues below x;
// `lowest` is the biased exponent of the smallest pair whose last steps are not proven.
template <class T, int U, bool Count, int Every>
[[gnu::always_inline]] inline void evaluate(const Tridiagonal<T>* const* t, int n, Point<T>* at, Int<T>* lowest) {
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
    const int first = i, stop = i + Every < n ? i + Every : n;
    for (; i < stop; ++i) {
#pragma GCC unroll 4
      for (int g = 0; g < U; ++g) {
        const Vec<T> next = multiply_subtract<T>(t[g]->d[i] - at[g].x, p1[g], t[g]->e2[i - 1] * p0[g]);
        p0[g] = p1[g];
        p1[g] = next;
        if constexpr (Count) count[g] += negative<T>(Vec<T>(Int<T>(p0[g]) ^ Int<T>(p1[g])));
      }
    }
    const bool proven = Every <= proven_steps<T> || stop - first <= proven_steps<T>;
    if (proven && i == n) break;
#pragma GCC unroll 4
    for (int g = 0; g < U; ++g) {
      const Int<T> field = pair_exponent<T>(p0[g], p1[g]);
      if (!proven) lowest[g] = vmin_int<T>(lowest[g], field);
      if (i < n) rescale<T>(p0[g], p1[g], field, exponent[g]);
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
template <class T, bool Count> inline Vec<T> chord(const Point<T>& a, const Point<T>& b, Int<T> alone, Vec<T> middle) {
  using L = Lanes<T>;
  Int<T> shift = b.exponent - a.exponent;
  const Int<T> most = splat_int<T>(L::exponent_bias - 1);
  shift = select_int<T>(shift > most, most, select_int<T>(shift < -most, -most, shift));
  Vec<T> left = a.f, right = b.f * power_of_two<T>(shift + splat_int<T>(L::exponent_bias));
  if constexpr (Count) {
    left = select<T>(alone, left, __builtin_convertvector(a.count, Vec<T>) - middle);
    right = select<T>(alone, right, __builtin_convertvector(b.count, Vec<T>) - middle);
  }
  return left / (left - right);
}

template <class T> struct Search {
  Point<T> a, b;      // count(a) <= k < count(b)
  Int<T> last_side;   // -1 where the last point replaced b
  Int<T> alone;       // λ_k is the only eigenvalue between a and b
  Int<T> open;        // still wider than the tolerance
  Vec<T> from, to;    // the counted ends between which λ_k was found alone

  Vec<T> middle() const { return a.x + T(0.5) * (b.x - a.x); }
};

// Alone, the sign of the polynomial decides, whether or not this pass also counted for other lanes.
template <class T, bool Count> inline void narrow(Search<T>& s, const Point<T>& at, int k) {
  Int<T> below = negative<T>(at.f) ^ splat_int<T>(-(k & 1));
  if constexpr (Count) below = select_int<T>(s.alone, below, Int<T>(at.count > splat_int<T>(k)));
  const Int<T> to_b = s.open & below, to_a = s.open & ~below;
  // Illinois: an end that stays a second time counts half.
  const Vec<T> half = splat<T>(T(0.5)), one = splat<T>(T(1));
  s.a.f *= select<T>(to_b & (s.last_side == splat_int<T>(-1)), half, one);
  s.b.f *= select<T>(to_a & (s.last_side == splat_int<T>(1)), half, one);
  s.a.x = select<T>(to_a, at.x, s.a.x), s.b.x = select<T>(to_b, at.x, s.b.x);
  s.a.f = select<T>(to_a, at.f, s.a.f), s.b.f = select<T>(to_b, at.f, s.b.f);
  s.a.exponent = select_int<T>(to_a, at.exponent, s.a.exponent), s.b.exponent = select_int<T>(to_b, at.exponent, s.b.exponent);
  s.last_side = select_int<T>(to_b, splat_int<T>(-1), splat_int<T>(1));
  if constexpr (Count) {
    s.a.count = select_int<T>(to_a & ~s.alone, at.count, s.a.count);
    s.b.count = select_int<T>(to_b & ~s.alone, at.count, s.b.count);
    s.from = select<T>(s.alone, s.from, s.a.x), s.to = select<T>(s.alone, s.to, s.b.x);
  }
}

// The closing of U groups' brackets around λ_k. A careful one relies on counts only, and on no step that is not proven.
template <class T, int U, bool Careful> struct Closing {
  static constexpr T tolerance = 2 * Lanes<T>::epsilon;
  static constexpr int every = Careful ? proven_steps<T> : rescale_every<T>, most_passes = 8 * int(sizeof(T)) * 4;
  const Tridiagonal<T>* const* t;
  int n, k;
  Search<T> s[U];
  Point<T> at[U];
  Vec<T> step[U];
  Int<T> lowest[U];

  // One more point for every lane; true if some lane still needs such a pass.
  template <bool Count> [[gnu::always_inline]] inline bool advance(int pass) {
    const Vec<T> middle = splat<T>(T(k) + T(0.5));
    for (int g = 0; g < U; ++g) {
      const Vec<T> width = s[g].b.x - s[g].a.x, inner = vmin<T>(splat<T>(tolerance), T(0.5) * width);
      at[g].x = vmin<T>(vmax<T>(at[g].x, s[g].a.x + inner), s[g].b.x - inner);
    }
    evaluate<T, U, Count, every>(t, n, at, lowest);
    Int<T> wanted = Int<T>{};
    for (int g = 0; g < U; ++g) {
      Search<T>& here = s[g];
      narrow<T, Count>(here, at[g], k);
      if constexpr (Count && !Careful) here.alone = (here.a.count == splat_int<T>(k)) & (here.b.count == splat_int<T>(k + 1));
      const Vec<T> width = here.b.x - here.a.x;
      here.open = here.open & Int<T>(width > splat<T>(tolerance));
      Vec<T> share = chord<T, Count>(here.a, here.b, here.alone, middle);
      const Int<T> sound = Int<T>(share > splat<T>(T(0))) & Int<T>(share < splat<T>(T(1)));
      Int<T> halve = splat_int<T>(pass >= 12 && pass % 2 ? -1 : 0) | ~sound;
      if constexpr (Count) halve = halve | (splat_int<T>(pass >= 5 ? -1 : 0) & ~here.alone);
      share = select<T>(halve, splat<T>(T(0.5)), share);
      Vec<T> x = here.a.x + share * width;
      if (Count && pass < 2) {
        const Vec<T> behind = middle - __builtin_convertvector(at[g].count, Vec<T>);
        const Vec<T> jump = at[g].x + step[g] * (behind + with_sign<T>(splat<T>(T(0.5)), behind));
        const Int<T> inside = Int<T>(jump > here.a.x + T(0.01) * width) & Int<T>(jump < here.b.x - T(0.01) * width);
        x = select<T>(inside & ~here.alone, jump, x);
      }
      at[g].x = x;
      wanted = wanted | (Count ? here.open & ~here.alone : here.open);
    }
    return any<T>(wanted);
  }

  // Lanes that are not open stay as they are.
  [[gnu::always_inline]] inline void run() {
    int pass = 0;
    while (advance<true>(pass++) && pass < most_passes) {
    }
    if constexpr (!Careful)
      while (pass < most_passes && advance<false>(pass++)) {
      }
  }
};

template <class T> inline Search<T> whole_bracket(const Tridiagonal<T>& t, int n, Int<T> open) {
  const Point<T> a{t.low, Vec<T>{}, Int<T>{}, Int<T>{}}, b{t.high, Vec<T>{}, Int<T>{}, splat_int<T>(n)};
  return {a, b, Int<T>{}, Int<T>{}, open, t.low, t.high};
}

// Searches for λ_k once more, carefully, in the lanes `again`.
template <class T, int U>
[[gnu::noinline]] void search_again(const Tridiagonal<T>* const* t, int n, int k, const Int<T>* again, Vec<T>* lambda) {
  Closing<T, U, true> closing{t, n, k, {}, {}, {}, {}};
  for (int g = 0; g < U; ++g) {
    closing.s[g] = whole_bracket<T>(*t[g], n, again[g]);
    closing.at[g].x = t[g]->mean;
  }
  closing.run();
  for (int g = 0; g < U; ++g) lambda[g] = select<T>(again[g], closing.s[g].middle(), lambda[g]);
}

// A computed count is that of a matrix within `doubt` / 2 of T. So where λ_k is alone, a point's count is k or k + 1, and the
// sign of the polynomial says which, unless the point is within `doubt` of a counted end: there it could be k - 1 or k + 2,
// with the other one's sign, and the bracket would close beside λ_(k-1) or λ_(k+1). Such a bracket is not believed.
template <class T> inline Int<T> doubtful(const Search<T>& s, Int<T> lowest) {
  constexpr T doubt = 6 * Lanes<T>::epsilon;
  const Int<T> beside = Int<T>(s.b.x < s.from + doubt) | Int<T>(s.a.x > s.to - doubt);
  return (s.alone & beside) | (lowest < splat_int<T>(Lanes<T>::exponent_bias + bottom<T>));
}

template <class T, int U>
void find_eigenvalue(const Tridiagonal<T>* const* t, int n, int k, Guess guess, Vec<T>* lambda) {
  Closing<T, U, false> closing{t, n, k, {}, {}, {}, {}};
  for (int g = 0; g < U; ++g) {
    closing.s[g] = whole_bracket<T>(*t[g], n, splat_int<T>(-1));
    closing.at[g].x = t[g]->mean + T(guess.position) * t[g]->spread;
    closing.step[g] = T(guess.spacing) * t[g]->spread;
    closing.lowest[g] = splat_int<T>(Lanes<T>::exponent_bias);
  }
  closing.run();
  Int<T> again[U], some = Int<T>{};
  for (int g = 0; g < U; ++g) {
    again[g] = doubtful<T>(closing.s[g], closing.lowest[g]);
    some = some | again[g];
    lambda[g] = closing.s[g].middle();
  }
  if (any<T>(some)) search_again<T, U>(t, n, k, again, lambda);
}

}  // namespace lambdak::LAMBDAK_ISA
