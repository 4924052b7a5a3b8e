// Reverse derivatives of eigenvalues and eigenvectors, block by block.
#pragma once
#include "solve.hpp"

namespace lambdak::LAMBDAK_ISA {

// Adds y vᵀ, symmetrised, to the gradient in the coordinates of the input.
template <class T> void add_outer(const Job& job, bool first, const Vec<T>* y, const Vec<T>* v, Vec<T>* out, Vec<T>* out_off) {
  const int n = job.dim;
  const T root_half = T(0.70710678118654752440);
  const auto put = [&](Vec<T>& slot, Vec<T> x) { slot = first ? x : slot + x; };
  for (int i = 0; i < n; ++i) {
    if (job.tridiagonal) {
      put(out[i], y[i] * v[i]);
      if (i + 1 < n) put(out_off[i], y[i] * v[i + 1] + y[i + 1] * v[i]);
      continue;
    }
    Vec<T>* const row = out + row_start(i);
    const Vec<T> yi = root_half * y[i], vi = root_half * v[i];
    for (int j = 0; j < i; ++j) put(row[j], yi * v[j] + vi * y[j]);
    put(row[i], y[i] * v[i]);
  }
}

template <class T> void store_grad(const Job& job, int64_t row, const Vec<T>* out, const Vec<T>* out_off) {
  const int n = job.dim, size = job.tridiagonal ? n : row_start(n);
  store_rows<T>(output<T>(job.grad, job, row), size, [&](int c) { return out[c]; });
  if (job.tridiagonal && n > 1)
    store_rows<T>(output<T>(job.grad_off, job, row), n - 1, [&](int c) { return out_off[c]; });
}

// How far from λ an eigenvalue of the scaled matrix may be to count as equal to it; a zero matrix has a width, too.
template <class T> Vec<T> near_width(const Job& job, const Tridiagonal<T>& t) {
  const Vec<T> norm = vsqrt(T(job.dim) * (t.mean * t.mean + t.spread * t.spread));
  return vmax<T>(T(job.near) * norm, splat<T>(2 * Lanes<T>::epsilon));
}

// Where other eigenvalues are within `near` of λ.
template <class T> Int<T> crowded(const Tridiagonal<T>& t, int n, Vec<T> lambda, Vec<T> near) {
  const Tridiagonal<T>* const both[] = {&t, &t};
  Point<T> ends[2] = {{lambda - near, {}, {}, {}}, {lambda + near, {}, {}, {}}};
  evaluate<T, 2, true, proven_steps<T>>(both, n, ends, nullptr);
  return ends[1].count - ends[0].count > splat_int<T>(1);
}

// out = (T - λ)⁺ y in one lane, where eigenvalues within `near` of λ count as equal to it.
template <class T>
void solve_apart(const Spectrum& whole, int n, int lane, T lambda, T near, const Vec<T>* y, Vec<T>* out) {
  for (int i = 0; i < n; ++i) out[i][lane] = 0;
  for (int j = 0; j < n; ++j) {
    const double gap = whole.values[j] - double(lambda);
    if (__builtin_fabs(gap) <= double(near)) continue;
    double share = 0;
    for (int i = 0; i < n; ++i) share += whole.vectors[i * n + j] * double(y[i][lane]);
    for (int i = 0; i < n; ++i) out[i][lane] += T(share / gap * whole.vectors[i * n + j]);
  }
}

// y = g v + w with w = (λ - A)⁺ (grad of v): then the derivative of value and vector is the symmetric part of y vᵀ.
template <class T, int U>
void vjp_vector(const Job& job, int64_t row, int m, const Group<T>& g, Workspace<T, U>& s, Vec<T>* y) {
  const int n = job.dim;
  Vec<T>*v = s.vectors, *x = s.result;
  load_rows<T>(input<T>(job.vector, job, row, m), n, [&](int c, Vec<T> entry) { v[c] = x[c] = entry; });
  load_rows<T>(input<T>(job.grad_vector, job, row, m), n, [&](int c, Vec<T> entry) { y[c] = entry; });
  if (!job.tridiagonal) transform_forth<T>(g.packed, g.h, n, x), transform_forth<T>(g.packed, g.h, n, y);
  Int<T> cut = Int<T>{};
  Vec<T> largest = vabs<T>(x[0]);
  for (int i = 1; i < n; ++i) {
    const Int<T> larger = vabs<T>(x[i]) > largest;
    largest = select<T>(larger, vabs<T>(x[i]), largest);
    cut = select_int<T>(larger, splat_int<T>(i), cut);
  }
  const auto project = [&] {
    const Vec<T> share = dot<T>(n, x, y);
    for (int i = 0; i < n; ++i) y[i] -= share * x[i];
  };
  project();
  const Vec<T> unit = select<T>(Int<T>(g.t.unit == Vec<T>{}), splat<T>(T(1)), g.t.unit);  // 0 for a zero matrix
  Vec<T> lambda;
  load_rows<T>(input<T>(job.value, job, row, m), 1, [&](int, Vec<T> value) {
    lambda = value / g.unit_outer / g.unit_inner / unit;
  });
  const Vec<T> near = near_width<T>(job, g.t);
  const Int<T> several = crowded<T>(g.t, n, lambda, near);
  Vec<T>* const apart = s.result + n;
  for (int lane = 0; any<T>(several) && lane < W<T>; ++lane)
    if (several[lane]) solve_apart<T>(spectrum_of<T>(g.t, n, lane, s.spare), n, lane, lambda[lane], near[lane], y, apart);
  for (int i = 0; i < n; ++i) y[i] = select<T>(Int<T>(splat_int<T>(i) == cut), Vec<T>{}, y[i]);
  solve_shifted<T>(g.t, n, lambda, cut, s.work, y);
  for (int i = 0; any<T>(several) && i < n; ++i) y[i] = select<T>(several, apart[i], y[i]);
  project();
  if (!job.tridiagonal) transform_back<T>(g.packed, g.h, n, y);
  Vec<T> grad_value;
  load_rows<T>(input<T>(job.grad_value, job, row, m), 1, [&](int, Vec<T> x) { grad_value = x; });
  for (int i = 0; i < n; ++i) y[i] = grad_value * v[i] - y[i] / unit / g.unit_inner / g.unit_outer;
}

template <class T> void vjp_block(const Job& job, int64_t row, void* scratch) {
  Workspace<T, 1> s;
  const int n = job.dim;
  Arena<T> arena{static_cast<Vec<T>*>(scratch)};
  arena.used = Workspace<T, 1>::lay_out(job, arena, &s);
  Vec<T>*y = arena.take(n), *out = arena.take(row_start(n)), *out_off = arena.take(n);
  load_groups<T>(job, row, s.group, 1);
  for (int m = 0; m < job.n_index; ++m) {
    vjp_vector<T, 1>(job, row, m, s.group[0], s, y);
    add_outer<T>(job, m == 0, y, s.vectors, out, out_off);
  }
  store_grad<T>(job, row, out, out_off);
}

template <class T> void outer_block(const Job& job, int64_t row, void* scratch) {
  const int n = job.dim;
  Arena<T> arena{static_cast<Vec<T>*>(scratch)};
  Vec<T>*y = arena.take(n), *v = arena.take(n), *out = arena.take(row_start(n)), *out_off = arena.take(n);
  for (int m = 0; m < job.n_index; ++m) {
    Vec<T> factor;
    load_rows<T>(input<T>(job.grad_value, job, row, m), 1, [&](int, Vec<T> x) { factor = x; });
    load_rows<T>(input<T>(job.vector, job, row, m), n, [&](int c, Vec<T> x) { v[c] = x, y[c] = factor * x; });
    add_outer<T>(job, m == 0, y, v, out, out_off);
  }
  store_grad<T>(job, row, out, out_off);
}

}  // namespace lambdak::LAMBDAK_ISA
