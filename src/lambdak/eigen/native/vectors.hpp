// Vectors in tridiagonal coordinates: twisted factorisation, inverse iteration where that fails, and the
// pseudo-inverse solve behind the derivative of an eigenvector.
#pragma once
#include "reduce.hpp"
#include "sturm.hpp"

namespace lambdak::LAMBDAK_ISA {

template <class T> inline Vec<T> away_from_zero(Vec<T> x, T least) {
  return select<T>(Int<T>(vabs<T>(x) < splat<T>(least)), with_sign<T>(splat<T>(least), x), x);
}

template <class T> inline void normalise(int n, Vec<T>* z) {
  Vec<T> sum{};
  for (int i = 0; i < n; ++i) sum += z[i] * z[i];
  const Vec<T> factor = T(1) / vsqrt(sum);
  for (int i = 0; i < n; ++i) z[i] *= factor;
}

// The same for vectors whose squares might overflow.
template <class T> inline void normalise_large(int n, Vec<T>* z) {
  Vec<T> largest{};
  for (int i = 0; i < n; ++i) largest = vmax<T>(largest, vabs<T>(z[i]));
  const Vec<T> factor = T(1) / largest;
  for (int i = 0; i < n; ++i) z[i] *= factor;
  normalise<T>(n, z);
}

template <class T> inline Vec<T> dot(int n, const Vec<T>* x, const Vec<T>* y) {
  Vec<T> sum{};
  for (int i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

// zᵀTz - λ for a unit z, and ‖(T - λ)z‖²; NaN where z is not finite.
template <class T> struct Residual {
  Vec<T> shift, square;
};
template <class T> inline Residual<T> residual(const Tridiagonal<T>& t, int n, Vec<T> lambda, const Vec<T>* z) {
  Residual<T> out{};
  for (int i = 0; i < n; ++i) {
    Vec<T> r = (t.d[i] - lambda) * z[i];
    if (i > 0) r += t.e[i - 1] * z[i - 1];
    if (i + 1 < n) r += t.e[i] * z[i + 1];
    out.square += r * r;
    out.shift += r * z[i];
  }
  return out;
}

// z with (T - λ) z = γ_r e_r for the r whose |γ_r| is least; forward and backward are scratch of n vectors each.
template <class T>
void twisted_vector(const Tridiagonal<T>& t, int n, Vec<T> lambda, Vec<T>* forward, Vec<T>* backward, Vec<T>* z) {
  constexpr T least = Lanes<T>::epsilon * Lanes<T>::epsilon;
  // Ratios z_i / z_{i+1} from above and z_{i+1} / z_i from below: both chains run side by side.
  Vec<T> up = away_from_zero<T>(t.d[0] - lambda, least), down = away_from_zero<T>(t.d[n - 1] - lambda, least);
  z[0] = up;
  for (int i = 0; i + 1 < n; ++i) {
    const int j = n - 1 - i;
    forward[i] = -t.e[i] / up;
    backward[j] = -t.e[j - 1] / down;
    up = away_from_zero<T>((t.d[i + 1] - lambda) + t.e[i] * forward[i], least);
    down = away_from_zero<T>((t.d[j - 1] - lambda) + t.e[j - 1] * backward[j], least);
    z[i + 1] = up;
  }
  Vec<T> best = vabs<T>(z[n - 1]);
  Int<T> twist = splat_int<T>(n - 1);
  for (int i = 0; i + 1 < n; ++i) {
    const Vec<T> gamma = vabs<T>(z[i] + t.e[i] * backward[i + 1]);
    const Int<T> better = gamma < best;
    best = select<T>(better, gamma, best);
    twist = select_int<T>(better, splat_int<T>(i), twist);
  }
  const Vec<T> one = splat<T>(T(1));
  Vec<T> x = one;
  for (int i = n - 1; i >= 0; --i) {
    if (i + 1 < n) x = x * forward[i];
    x = select<T>(Int<T>(splat_int<T>(i) >= twist), one, x);
    z[i] = x;
  }
  x = one;
  for (int i = 0; i < n; ++i) {
    if (i > 0) x = x * backward[i];
    x = select<T>(Int<T>(splat_int<T>(i) <= twist), one, x);
    z[i] *= x;
  }
}

// Solves (T - λ) z = z in place by Givens rotations, stable for any shift. A row r >= 0 is cut out first
// (diagonal 1, neighbours 0). `work` is scratch of 3n vectors: the upper triangle with two superdiagonals.
template <class T>
void solve_shifted(const Tridiagonal<T>& t, int n, Vec<T> lambda, Int<T> cut, Vec<T>* work, Vec<T>* z) {
  constexpr T least = Lanes<T>::epsilon * T(0.125);
  const auto diagonal = [&](int i) {
    return select<T>(Int<T>(splat_int<T>(i) == cut), splat<T>(T(1)), t.d[i] - lambda);
  };
  const auto link = [&](int i) {  // between i and i + 1
    return select<T>(Int<T>(splat_int<T>(i) == cut) | Int<T>(splat_int<T>(i + 1) == cut), Vec<T>{}, t.e[i]);
  };
  Vec<T>*r0 = work, *r1 = work + n, *r2 = work + 2 * n;
  Vec<T> head = diagonal(0), next = n > 1 ? link(0) : Vec<T>{};  // the row being eliminated: (head, next)
  for (int i = 0; i + 1 < n; ++i) {
    const Vec<T> e = link(i), d = diagonal(i + 1), f = i + 2 < n ? link(i + 1) : Vec<T>{};
    const Vec<T> norm = vsqrt(head * head + e * e), inverse = T(1) / away_from_zero<T>(norm, least * least);
    const Int<T> void_row = norm < splat<T>(least * least);
    const Vec<T> c = select<T>(void_row, splat<T>(T(1)), head * inverse), s = select<T>(void_row, Vec<T>{}, e * inverse);
    r0[i] = away_from_zero<T>(norm, least);
    r1[i] = c * next + s * d;
    r2[i] = s * f;
    head = c * d - s * next;
    next = c * f;
    const Vec<T> zi = z[i], zj = z[i + 1];
    z[i] = c * zi + s * zj;
    z[i + 1] = c * zj - s * zi;
  }
  r0[n - 1] = away_from_zero<T>(head, least);
  for (int i = n - 1; i >= 0; --i) {
    Vec<T> x = z[i];
    if (i + 1 < n) x -= r1[i] * z[i + 1];
    if (i + 2 < n) x -= r2[i] * z[i + 2];
    z[i] = x / r0[i];
  }
}

// A reproducible start with no structure of its own.
template <class T> inline T start_entry(int i) {
  uint32_t x = uint32_t(i) * 0x9e3779b1u + 0x165667b1u;
  x = (x ^ (x >> 15)) * 0x2c1b3c6du;
  x = (x ^ (x >> 12)) * 0x297a2d39u;
  x ^= x >> 15;
  return T(x >> 8) * T(1.0 / (1 << 23)) - T(1);
}

// The vectors found so far for one group of matrices, and the eigenvalues they belong to.
template <class T> struct Found {
  int n, count;
  const Vec<T>*vectors, *values;

  // Removes from z what it shares with vectors of (nearly) the same eigenvalue.
  void orthogonalise(Vec<T> lambda, Vec<T>* z) const {
    constexpr T near = T(1) / 16;
    for (int m = count - 1; m >= 0; --m) {
      const Int<T> close = vabs<T>(values[m] - lambda) < splat<T>(near);
      if (!any<T>(close)) continue;
      const Vec<T> share = select<T>(close, dot<T>(n, vectors + m * n, z), Vec<T>{});
      for (int i = 0; i < n; ++i) z[i] -= share * vectors[m * n + i];
    }
  }
};

template <class T> struct VectorResult {
  Vec<T> lambda;   // with its Rayleigh correction, which can be no larger than the tolerance of the search
  Int<T> failed;   // the residual is too large, or what is left beside the vectors found before is rounding error
};

template <class T> inline Vec<T> corrected(Vec<T> lambda, Vec<T> shift) {
  return select<T>(Int<T>(vabs<T>(shift) < splat<T>(4 * Lanes<T>::epsilon)), lambda + shift, lambda);
}

template <class T> inline Vec<T> residual_limit(int n) {
  const T bar = T(2) * Lanes<T>::epsilon;
  return splat<T>(bar * bar * T(n));
}

// Unit eigenvector of λ, orthogonal to the vectors found before. `work` is scratch of 2n vectors.
template <class T>
VectorResult<T> find_vector(const Tridiagonal<T>& t, const Found<T>& found, Vec<T> lambda, Vec<T>* work, Vec<T>* z) {
  const int n = found.n;
  twisted_vector<T>(t, n, lambda, work, work + n, z);
  normalise<T>(n, z);
  found.orthogonalise(lambda, z);
  const Int<T> fresh = dot<T>(n, z, z) > splat<T>(T(0.25));
  if (found.count) normalise<T>(n, z);
  const Residual<T> r = residual<T>(t, n, lambda, z);
  return {corrected<T>(lambda, r.shift), ~(Int<T>(r.square <= residual_limit<T>(n)) & fresh)};
}

// A second try for a single vector, in the lanes where the first one failed: inverse iteration with Givens rotations,
// which are stable for any shift. `work` is scratch of 4n vectors.
template <class T>
Vec<T> repair_vector(const Tridiagonal<T>& t, int n, Vec<T> lambda, Int<T> failed, Vec<T>* work, Vec<T>* z) {
  Vec<T>* const trial = work + 3 * n;
  for (int i = 0; i < n; ++i) trial[i] = splat<T>(start_entry<T>(i));
  const Int<T> nowhere = splat_int<T>(-1);
  Residual<T> best = residual<T>(t, n, lambda, z);
  best.square = select<T>(Int<T>(best.square < splat<T>(T(1))), best.square, splat<T>(T(1)));  // and not NaN
  // A shift just beside a cluster treats its members alike.
  const Vec<T> beside = lambda + T(8) * Lanes<T>::epsilon;
  for (int round = 0; round < 4; ++round) {
    solve_shifted<T>(t, n, beside, nowhere, work, trial);
    normalise_large<T>(n, trial);
    const Residual<T> now = residual<T>(t, n, lambda, trial);
    const Int<T> better = failed & Int<T>(now.square < best.square);
    for (int i = 0; i < n; ++i) z[i] = select<T>(better, trial[i], z[i]);
    best = {select<T>(better, now.shift, best.shift), select<T>(better, now.square, best.square)};
  }
  return select<T>(failed, corrected<T>(lambda, best.shift), lambda);
}

}  // namespace lambdak::LAMBDAK_ISA
