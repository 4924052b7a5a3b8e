// Eigenvalues and eigenvectors of the rows of a job, block by block.
#pragma once
#include "vectors.hpp"
#include "whole.hpp"
#include "workspace.hpp"

namespace lambdak::LAMBDAK_ISA {

template <class T, int U> void store_vector(const Job& job, int64_t row, int m, const Group<T>& g, Workspace<T, U>& s) {
  const int n = job.dim;
  for (int i = 0; i < n; ++i) s.result[i] = s.vectors[m * n + i];
  if (!job.tridiagonal) transform_back<T>(g.packed, g.h, n, s.result);
  const Vec<T> nan = splat<T>(T(__builtin_nan(""))), zero{};
  // Adding zero leaves no negative one, whose sign could depend on the neighbours.
  store_rows<T>(output<T>(job.vector, job, row, m), n, [&](int c) { return select<T>(g.bad, nan, s.result[c] + zero); });
}

// All eigenvalues (n) and, in columns, vectors (n, n) of one lane's tridiagonal matrix.
struct Spectrum {
  const double *values, *vectors;
};
template <class T> Spectrum spectrum_of(const Tridiagonal<T>& t, int n, int lane, Vec<T>* spare) {
  double *d = reinterpret_cast<double*>(spare), *e = d + n, *z = e + n;
  for (int i = 0; i < n; ++i) d[i] = t.d[i][lane], e[i] = i + 1 < n ? t.e[i][lane] : 0;
  whole_spectrum(n, d, e, z);
  return {d, z};
}

// Replaces all vectors and values of one lane by those of its whole spectrum.
template <class T, int U> void solve_whole(const Job& job, const Group<T>& g, int lane, Workspace<T, U>& s) {
  const int n = job.dim;
  const auto [d, z] = spectrum_of<T>(g.t, n, lane, s.spare);
  for (int m = 0; m < job.n_index; ++m) {
    int chosen = 0;  // the one with index[m] smaller ones before it
    for (int j = 0; j < n; ++j) {
      int smaller = 0;
      for (int i = 0; i < n; ++i) smaller += d[i] < d[j] || (d[i] == d[j] && i < j);
      if (smaller == job.index[m]) chosen = j;
    }
    s.values[m][lane] = T(d[chosen]);
    for (int i = 0; i < n; ++i) s.vectors[m * n + i][lane] = T(z[i * n + chosen]);
  }
}

// The vectors of one group in tridiagonal coordinates, and the values they correct.
template <class T, int U> void find_vectors(const Job& job, const Group<T>& g, Workspace<T, U>& s) {
  const int n = job.dim;
  Int<T> failed{};
  for (int m = 0; m < job.n_index; ++m) {
    Vec<T>* const z = s.vectors + m * n;
    const Found<T> found{n, m, s.vectors, s.values};
    const VectorResult<T> result = find_vector<T>(g.t, found, s.values[m], s.work, z);
    s.values[m] = result.lambda;
    failed = failed | result.failed;
  }
  if (!any<T>(failed)) return;
  if (job.n_index == 1) {
    s.values[0] = repair_vector<T>(g.t, n, s.values[0], failed, s.work, s.vectors);
    return;
  }
  for (int lane = 0; lane < W<T>; ++lane)
    if (failed[lane]) solve_whole<T, U>(job, g, lane, s);
}

template <class T, int U> void solve_group(const Job& job, int64_t row, int which, Workspace<T, U>& s) {
  Group<T>& g = s.group[which];
  const Vec<T> nan = splat<T>(T(__builtin_nan("")));
  for (int m = 0; m < job.n_index; ++m) s.values[m] = s.found[m * U + which];
  if (job.vector.data) find_vectors<T, U>(job, g, s);
  for (int m = 0; m < job.n_index; ++m) {
    // Eigenvalues never change order, not even by a rounding error.
    if (m > 0) s.values[m] = vmax<T>(s.values[m], s.values[m - 1]);
    const Vec<T> value = select<T>(g.bad, nan, g.to_input_scale(s.values[m]));
    store_rows<T>(output<T>(job.value, job, row, m), 1, [&](int) { return value; });
    if (job.vector.data) store_vector<T, U>(job, row, m, g, s);
  }
}

template <class T, int U> void solve_block(const Job& job, int64_t row, void* scratch) {
  Workspace<T, U> s;
  Workspace<T, U>::lay_out(job, {static_cast<Vec<T>*>(scratch)}, &s);
  const Tridiagonal<T>* t[U];
  const int count = job.rows - row <= W<T> ? 1 : U;
  load_groups<T>(job, row, s.group, count);
  for (int g = 0; g < U; ++g) t[g] = &s.group[g < count ? g : 0].t;  // one beyond the last row stands for the first
  for (int m = 0; m < job.n_index; ++m)
    find_eigenvalue<T, U>(t, job.dim, job.index[m], job.guess[m], s.found + m * U);
  for (int g = 0; g < U; ++g)
    if (row + g * W<T> < job.rows) solve_group<T, U>(job, row + g * W<T>, g, s);
}

template <class T> void solve_one_by_one(const Job& job, int64_t row) {
  const T nan = T(__builtin_nan(""));
  const T x = input<T>(job.matrix, job, row).data[0];
  const bool bad = !(x * T(0) == T(0));
  output<T>(job.value, job, row).data[0] = bad ? nan : x;
  if (job.vector.data) output<T>(job.vector, job, row).data[0] = bad ? nan : T(1);
}

}  // namespace lambdak::LAMBDAK_ISA
