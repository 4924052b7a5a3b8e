// Householder reduction of W packed symmetric matrices to tridiagonal form, and the way back for a vector.
#pragma once
#include "simd.hpp"

namespace lambdak::LAMBDAK_ISA {

constexpr int row_start(int i) { return i * (i + 1) / 2; }

// Memory that the next group will read: it is requested step by step, while this one is reduced.
struct Ahead {
  const char *next = nullptr, *end = nullptr;
  int64_t at_once = 0;  // bytes
  bool near = false;    // into the nearest cache, or the next one

  void request() {
    const char* const stop = end - next > at_once ? next + at_once : end;
    for (; next < stop; next += 64) near ? __builtin_prefetch(next, 0, 3) : __builtin_prefetch(next, 0, 2);
  }
};

// Reflector s is H = I - h u uᵀ with u on s+1..n-1; u is kept in column s of the packed matrix.
template <class T> struct Reduction {
  Vec<T>* packed;    // D
  Vec<T>* diagonal;  // n
  Vec<T>* off;       // n - 1
  Vec<T>* h;         // n - 2
  Vec<T>*v, *w, *u, *p;  // n each: pending update A -= v wᵀ + w vᵀ, next reflector, and A u
  Vec<T> tiny;           // the square below which what is to vanish counts as zero already
};

// Rows i0 .. i0+R-1 of the trailing block from column s on: apply the pending rank-2 update and, while each
// element is in a register, multiply it with the next reflector from both sides.
template <class T, int R, bool Pending> inline void update_rows(const Reduction<T>& r, int s, int i0) {
  Vec<T>* __restrict row[R];
  Vec<T>* __restrict const p = r.p;
  const Vec<T>*__restrict const u = r.u, *__restrict const v = r.v, *__restrict const w = r.w;
  Vec<T> vi[R], wi[R], ui[R], pi[R];
#pragma GCC unroll 4
  for (int q = 0; q < R; ++q) {
    row[q] = r.packed + row_start(i0 + q);
    vi[q] = v[i0 + q], wi[q] = w[i0 + q], ui[q] = u[i0 + q], pi[q] = Vec<T>{};
  }
  for (int j = s; j < i0; ++j) {
    const Vec<T> uj = u[j], vj = v[j], wj = w[j];
    Vec<T> pj = p[j];
#pragma GCC unroll 4
    for (int q = 0; q < R; ++q) {
      Vec<T> a = row[q][j];
      if constexpr (Pending) row[q][j] = a = a - vi[q] * wj - wi[q] * vj;
      pi[q] += a * uj;
      pj += a * ui[q];
    }
    p[j] = pj;
  }
#pragma GCC unroll 4
  for (int q = 0; q < R; ++q) {
#pragma GCC unroll 4
    for (int t = 0; t <= q; ++t) {
      Vec<T> a = row[q][i0 + t];
      if constexpr (Pending) row[q][i0 + t] = a = a - vi[q] * wi[t] - wi[q] * vi[t];
      pi[q] += a * ui[t];
      if (t < q) pi[t] += a * ui[q];
    }
  }
#pragma GCC unroll 4
  for (int q = 0; q < R; ++q) p[i0 + q] = pi[q];
}

template <class T, bool Pending> inline void update_block(const Reduction<T>& r, int n, int s) {
  constexpr int R = LAMBDAK_VECTOR_BYTES == 64 ? 4 : 2;  // as many rows as there are registers for
  // The odd rows first: they are the short ones.
  int i = s + (n - s) % R;
  if (i == s + 1) update_rows<T, 1, Pending>(r, s, s);
  if constexpr (R > 2) {
    if (i == s + 2) update_rows<T, 2, Pending>(r, s, s);
    if (i == s + 3) update_rows<T, 3, Pending>(r, s, s);
  }
  for (; i < n; i += R) update_rows<T, R, Pending>(r, s, i);
}

// Σ term(i), in four partial sums that hide the latency of the additions.
template <class T, class Term> inline Vec<T> sum_over(int begin, int end, Term term) {
  Vec<T> sum[4] = {};
  int i = begin;
  for (; i + 4 <= end; i += 4)
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) sum[q] += term(i + q);
  for (; i < end; ++i) sum[0] += term(i);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Brings column s up to date with the pending update, and chooses the reflector that turns it into
// (diagonal, off, 0, …, 0).
template <class T, bool Pending> inline void make_reflector(const Reduction<T>& r, int n, int s) {
  Vec<T>* __restrict const packed = r.packed;
  Vec<T>* __restrict const u = r.u;
  const Vec<T>*__restrict const v = r.v, *__restrict const w = r.w;
  const Vec<T> vs = Pending ? v[s] : Vec<T>{}, ws = Pending ? w[s] : Vec<T>{};
  const auto entry = [&](int i) {
    Vec<T> x = packed[row_start(i) + s];
    if constexpr (Pending) x = x - v[i] * ws - w[i] * vs;
    return x;
  };
  r.diagonal[s] = entry(s);
  const Vec<T> alpha = entry(s + 1);
  const Vec<T> rest = sum_over<T>(s + 2, n, [&](int i) {
    const Vec<T> x = entry(i);
    u[i] = packed[row_start(i) + s] = x;
    return x * x;
  });
  const Int<T> active = rest > r.tiny;
  const Vec<T> norm = vsqrt(alpha * alpha + rest);
  const Vec<T> head = alpha + with_sign<T>(norm, alpha);
  u[s + 1] = packed[row_start(s + 1) + s] = head;
  r.off[s] = select<T>(active, -with_sign<T>(norm, alpha), alpha);
  r.h[s] = select<T>(active, T(1) / (norm * vabs<T>(head)), Vec<T>{});
}

// w = h p - (h/2)(h uᵀp) u, so that H A H = A - u wᵀ - w uᵀ; then u becomes the pending v.
template <class T> inline void make_update(Reduction<T>& r, int n, int s) {
  const Vec<T> h = r.h[s];
  const Vec<T>*__restrict const u = r.u, *__restrict const p = r.p;
  const Vec<T> dot = sum_over<T>(s + 1, n, [&](int i) { return u[i] * p[i]; });
  const Vec<T> half = T(0.5) * h * (h * dot);
  for (int i = s + 1; i < n; ++i) r.w[i] = h * p[i] - half * u[i];
  Vec<T>* const spare = r.v;
  r.v = r.u;
  r.u = spare;
}

template <class T> [[gnu::always_inline]] inline void reduce_step(Reduction<T>& r, int n, int s) {
  if (s == 0) {
    make_reflector<T, false>(r, n, s);
    update_block<T, false>(r, n, s + 1);
  } else {
    make_reflector<T, true>(r, n, s);
    update_block<T, true>(r, n, s + 1);
  }
  make_update<T>(r, n, s);
}

// The last two rows, which need no reflector.
template <class T> inline void finish_reduction(const Reduction<T>& r, int n) {
  const int last = row_start(n - 1) + n - 1;
  Vec<T> a = n > 1 ? r.packed[row_start(n - 2) + n - 2] : Vec<T>{};
  Vec<T> b = n > 1 ? r.packed[last - 1] : Vec<T>{};
  Vec<T> c = r.packed[last];
  if (n > 2) {
    a -= T(2) * r.v[n - 2] * r.w[n - 2];
    b -= r.v[n - 1] * r.w[n - 2] + r.w[n - 1] * r.v[n - 2];
    c -= T(2) * r.v[n - 1] * r.w[n - 1];
  }
  r.diagonal[n - 1] = c;
  if (n > 1) r.diagonal[n - 2] = a, r.off[n - 2] = b;
}

template <class T, int U> struct Reductions {
  Reduction<T> of[U];
};

// Groups take turns step by step: one's long operations, a square root and a division, run during the other's short ones.
template <class T, int U> void tridiagonalise(Reductions<T, U> groups, int n, Ahead ahead) {
  for (int s = 0; s + 2 < n; ++s) {
    ahead.request();
#pragma GCC unroll 2
    for (int g = 0; g < U; ++g) reduce_step<T>(groups.of[g], n, s);
  }
#pragma GCC unroll 2
  for (int g = 0; g < U; ++g) finish_reduction<T>(groups.of[g], n);
}

// z -= h u (uᵀz)
template <class T> inline void reflect(const Vec<T>* packed, Vec<T> h, int n, int s, Vec<T>* z) {
  const Vec<T> dot = h * sum_over<T>(s + 1, n, [&](int i) { return packed[row_start(i) + s] * z[i]; });
  for (int i = s + 1; i < n; ++i) z[i] -= dot * packed[row_start(i) + s];
}

// From tridiagonal to original coordinates: z = H_0 H_1 … z.
template <class T> void transform_back(const Vec<T>* packed, const Vec<T>* h, int n, Vec<T>* z) {
  for (int s = n - 3; s >= 0; --s) reflect<T>(packed, h[s], n, s, z);
}

// From original to tridiagonal coordinates.
template <class T> void transform_forth(const Vec<T>* packed, const Vec<T>* h, int n, Vec<T>* z) {
  for (int s = 0; s + 2 < n; ++s) reflect<T>(packed, h[s], n, s, z);
}

}  // namespace lambdak::LAMBDAK_ISA
