// One instruction set's build of the kernel: everything below is compiled once per LAMBDAK_ISA.
// Nothing here may instantiate library templates: the linker could hand their code to an older CPU.
#include "kernel.hpp"

#include "design.hpp"
#include "vectors.hpp"
#include "whole.hpp"
#include "workspace.hpp"

namespace lambdak::LAMBDAK_ISA {

// ---- the jobs --------------------------------------------------------------------------------------------------

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
  for (int g = 0; g < U; ++g) {
    // A group beyond the last row stands for the first one, and is not stored.
    const int64_t first = row + g * W<T>;
    if (first < job.rows) load_group<T, U>(job, first, s, s.group[g]);
    t[g] = &s.group[first < job.rows ? g : 0].t;
  }
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
  load_group<T, 1>(job, row, s, s.group[0]);
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

// ---- the table -------------------------------------------------------------------------------------------------

template <class T> int64_t scratch_vectors(const Job& job) {
  const Arena<T> none{nullptr};
  const int64_t two = Workspace<T, 2>::lay_out(job, none, nullptr), one = Workspace<T, 1>::lay_out(job, none, nullptr);
  if (job.grad.data) return one + 2 * job.dim + row_start(job.dim);
  return groups(job) == 2 ? two : one;
}

int64_t block_rows(const Job& job) {
  const int lanes = LAMBDAK_VECTOR_BYTES / (job.double_precision ? 8 : 4);
  if (job.grad.data) return lanes;
  return lanes * groups(job);
}

int64_t scratch_bytes(const Job& job) {
  return LAMBDAK_VECTOR_BYTES * (job.double_precision ? scratch_vectors<double>(job) : scratch_vectors<float>(job));
}

template <class T> void solve_range(const Job& job, int64_t begin, int64_t end, void* scratch) {
  const int64_t step = block_rows(job);
  if (job.dim == 1) {
    for (int64_t row = begin; row < end; ++row) solve_one_by_one<T>(job, row);
    return;
  }
  for (int64_t row = begin; row < end; row += step)
    groups(job) == 2 ? solve_block<T, 2>(job, row, scratch) : solve_block<T, 1>(job, row, scratch);
}

void solve(const Job& job, int64_t begin, int64_t end, void* scratch) {
  job.double_precision ? solve_range<double>(job, begin, end, scratch) : solve_range<float>(job, begin, end, scratch);
}

template <void (*Float)(const Job&, int64_t, void*), void (*Double)(const Job&, int64_t, void*)>
void each_block(const Job& job, int64_t begin, int64_t end, void* scratch) {
  for (int64_t row = begin, step = block_rows(job); row < end; row += step)
    job.double_precision ? Double(job, row, scratch) : Float(job, row, scratch);
}

}  // namespace lambdak::LAMBDAK_ISA

#define LAMBDAK_JOIN_(a, b) a##b
#define LAMBDAK_JOIN(a, b) LAMBDAK_JOIN_(a, b)
#define LAMBDAK_STRING_(a) #a
#define LAMBDAK_STRING(a) LAMBDAK_STRING_(a)

namespace lambdak {
namespace build = LAMBDAK_ISA;
const Kernel LAMBDAK_JOIN(kernel_, LAMBDAK_ISA) = {
    LAMBDAK_STRING(LAMBDAK_ISA),
    build::block_rows,
    build::scratch_bytes,
    build::solve,
    build::each_block<build::outer_block<float>, build::outer_block<double>>,
    build::each_block<build::vjp_block<float>, build::vjp_block<double>>,
    {build::gather<float>, build::gather<double>},
    {build::scatter<float>, build::scatter<double>},
    {build::multiply<float>, build::multiply<double>},
    build::largest,
    build::add,
    {build::adam<float>, build::adam<double>},
    {build::descend_bytes<float>, build::descend_bytes<double>},
    {build::descend<float>, build::descend<double>},
};
}  // namespace lambdak
