// One instruction set's build of the kernel: everything below is compiled once per LAMBDAK_ISA.
// Nothing here may instantiate library templates: the linker could hand their code to an older CPU.
#include "kernel.hpp"

#include "design.hpp"
#include "vectors.hpp"
#include "whole.hpp"

namespace lambdak::LAMBDAK_ISA {

// Matrices are worked on in one group of W, or in two whose Sturm recurrences hide each other's latency.
constexpr int64_t two_group_bytes = 256 << 10;

int groups(const Job& job) {
  const int64_t packed = job.tridiagonal ? 0 : row_start(job.dim);
  return 2 * (packed + 8 * job.dim) * LAMBDAK_VECTOR_BYTES <= two_group_bytes ? 2 : 1;
}

// The matrices of one group of lanes.
template <class T> struct Group {
  Tridiagonal<T> t;
  Vec<T>*packed, *h;
  Vec<T> unit_inner, unit_outer;  // undo the scaling of the input, in two steps that cannot overflow early
  Int<T> bad;                     // lanes with NaN or infinity

  Vec<T> to_input_scale(Vec<T> x) const { return x * t.unit * unit_inner * unit_outer; }
};

// Carves vectors out of the scratch buffer; with a null buffer it only counts.
template <class T> struct Arena {
  Vec<T>* base;
  int64_t used = 0;
  Vec<T>* take(int64_t count) {
    Vec<T>* const out = base ? base + used : nullptr;
    used += count;
    return out;
  }
};

template <class T, int U> struct Workspace {
  Group<T> group[U];
  Vec<T>*v, *w, *u, *p;  // reduction
  Vec<T>* work;          // 4n: vectors
  Vec<T>* vectors;       // n_index n, of one group, in tridiagonal coordinates; n where they are not all kept
  Vec<T>* values;        // n_index, of one group, scaled
  Vec<T>* found;         // n_index U
  Vec<T>* result;        // 2n
  Vec<T>* spare;         // doubles (n + 2) n: one whole spectrum, where several vectors are asked for

  static int64_t lay_out(const Job& job, Arena<T> arena, Workspace* out) {
    Workspace local, &s = out ? *out : local;
    const int n = job.dim;
    for (Group<T>& g : s.group) {
      g.packed = arena.take(job.tridiagonal ? 0 : row_start(n));
      g.t.d = arena.take(n), g.t.e = arena.take(n), g.t.e2 = arena.take(n), g.h = arena.take(n);
    }
    s.v = arena.take(n), s.w = arena.take(n), s.u = arena.take(n), s.p = arena.take(n);
    s.work = arena.take(4 * n);
    const bool keep_all = job.vector.data && !job.grad.data;
    s.vectors = arena.take(keep_all ? int64_t(job.n_index) * n : n);
    s.values = arena.take(job.n_index);
    s.found = arena.take(int64_t(job.n_index) * U);
    s.result = arena.take(2 * n);
    s.spare = arena.take(keep_all && job.n_index > 1 ? (int64_t(n + 2) * n * 8) / LAMBDAK_VECTOR_BYTES + 1 : 0);
    return arena.used;
  }
};

template <class T> Rows<const T> input(const Array& a, const Job& job, int64_t row, int m = 0) {
  return {static_cast<const T*>(a.data) + row * a.row + m * a.index, job.rows - row, a.row, a.entry};
}
template <class T> Rows<T> output(const Array& a, const Job& job, int64_t row, int m = 0) {
  return {static_cast<T*>(a.data) + row * a.row + m * a.index, job.rows - row, a.row, a.entry};
}

// ---- loading ---------------------------------------------------------------------------------------------------

template <class T> struct Extent {
  Int<T> bits{};  // of the largest |entry|; the bits of NaN and infinity are larger than those of any number
  void see(Vec<T> x) { bits = vmax_int<T>(bits, Int<T>(vabs<T>(x))); }
};

// Entries between these bounds are left alone; others are scaled to about 1, NaN and infinity to 0.
template <class T> Vec<T> rescale_input(Group<T>& g, const Extent<T>& seen, Vec<T>* const* parts, const int* sizes) {
  using L = Lanes<T>;
  constexpr T least = T(0x1p-8), most = T(0x1p24), lift = sizeof(T) == 4 ? T(0x1p100) : T(0x1p900);
  const Vec<T> one = splat<T>(T(1));
  const Vec<T> largest = Vec<T>(seen.bits);
  g.bad = seen.bits >= splat_int<T>(L::exponent_mask);
  g.unit_inner = g.unit_outer = one;
  const Int<T> odd = g.bad | (Int<T>(largest < splat<T>(least)) & Int<T>(largest > Vec<T>{})) |
                     Int<T>(largest > splat<T>(most));
  if (!any<T>(odd)) return largest;
  const Vec<T> safe = select<T>(odd & ~g.bad, largest, one);
  const Vec<T> outer = select<T>(Int<T>(safe < one / lift), splat<T>(lift), one);
  const Int<T> field = (Int<T>(safe * outer) & splat_int<T>(L::exponent_mask)) >> L::mantissa_bits;
  const Int<T> wanted = splat_int<T>(2 * L::exponent_bias) - field;
  const Int<T> biased = select_int<T>(wanted < splat_int<T>(1), splat_int<T>(1), wanted);
  const Vec<T> inner = power_of_two<T>(biased);
  for (int part = 0; part < 2; ++part)
    for (int i = 0; i < sizes[part]; ++i) {
      const Vec<T> x = select<T>(g.bad, Vec<T>{}, parts[part][i]);
      parts[part][i] = x * outer * inner;
    }
  g.unit_inner = one / inner;
  g.unit_outer = one / outer;
  return select<T>(g.bad, Vec<T>{}, largest) * outer * inner;
}

// Bounds, moments and the final scaling of a tridiagonal matrix whose d and e are in place.
template <class T> void prepare_spectrum(Tridiagonal<T>& t, int n) {
  using L = Lanes<T>;
  const Vec<T> one = splat<T>(T(1));
  const auto radius = [&](int i) {
    Vec<T> r = Vec<T>{};
    if (i > 0) r += vabs<T>(t.e[i - 1]);
    if (i + 1 < n) r += vabs<T>(t.e[i]);
    return r;
  };
  Vec<T> largest{}, sum{}, squares{};
  for (int i = 0; i < n; ++i) largest = vmax<T>(largest, vabs<T>(t.d[i]) + radius(i));
  const Int<T> field = (Int<T>(largest) & splat_int<T>(L::exponent_mask)) >> L::mantissa_bits;
  const Int<T> zero = largest == Vec<T>{};
  const Vec<T> factor = select<T>(zero, one, power_of_two<T>(splat_int<T>(2 * L::exponent_bias - 1) - field));
  t.unit = select<T>(zero, Vec<T>{}, one / factor);
  t.low = one, t.high = -one;
  constexpr T least = L::epsilon / 8;
  for (int i = 0; i + 1 < n; ++i) {
    t.e[i] *= factor;
    const Vec<T> square = t.e[i] * t.e[i];
    squares += square + square;
    t.e2[i] = vmax<T>(square, splat<T>(least * least));
  }
  for (int i = 0; i < n; ++i) {
    t.d[i] *= factor;
    const Vec<T> r = radius(i) + T(4) * L::epsilon;
    t.low = vmin<T>(t.low, t.d[i] - r), t.high = vmax<T>(t.high, t.d[i] + r);
    sum += t.d[i], squares += t.d[i] * t.d[i];
  }
  t.mean = sum * T(1.0 / n);
  t.spread = vsqrt(vmax<T>(squares * T(1.0 / n) - t.mean * t.mean, Vec<T>{}));
}

template <class T, int U> void load_group(const Job& job, int64_t row, Workspace<T, U>& s, Group<T>& g) {
  const int n = job.dim;
  Extent<T> seen;
  if (job.tridiagonal) {
    load_rows<T>(input<T>(job.matrix, job, row), n, [&](int c, Vec<T> x) { seen.see(x), g.t.d[c] = x; });
    load_rows<T>(input<T>(job.off, job, row), n - 1, [&](int c, Vec<T> x) { seen.see(x), g.t.e[c] = x; });
    Vec<T>* const parts[] = {g.t.d, g.t.e};
    const int sizes[] = {n, n - 1};
    rescale_input<T>(g, seen, parts, sizes);
  } else {
    const T* scale = static_cast<const T*>(job.entry_scale);
    load_rows<T>(input<T>(job.matrix, job, row), row_start(n), [&](int c, Vec<T> x) {
      x *= scale[c];
      seen.see(x);
      g.packed[c] = x;
    });
    Vec<T>* const parts[] = {g.packed, nullptr};
    const int sizes[] = {row_start(n), 0};
    const Vec<T> largest = rescale_input<T>(g, seen, parts, sizes);
    constexpr T eps2 = Lanes<T>::epsilon * Lanes<T>::epsilon;
    tridiagonalise<T>({g.packed, g.t.d, g.t.e, g.h, s.v, s.w, s.u, s.p}, n, (eps2 * largest) * (eps2 * largest));
  }
  prepare_spectrum<T>(g.t, n);
}

// ---- the jobs --------------------------------------------------------------------------------------------------

template <class T, int U> void store_vector(const Job& job, int64_t row, int m, const Group<T>& g, Workspace<T, U>& s) {
  const int n = job.dim;
  for (int i = 0; i < n; ++i) s.result[i] = s.vectors[m * n + i];
  if (!job.tridiagonal) transform_back<T>(g.packed, g.h, n, s.result);
  const Vec<T> nan = splat<T>(T(__builtin_nan(""))), zero{};
  // Adding zero leaves no negative one, whose sign could depend on the neighbours.
  store_rows<T>(output<T>(job.vector, job, row, m), n, [&](int c) { return select<T>(g.bad, nan, s.result[c] + zero); });
}

// Replaces all vectors and values of one lane by those of its whole spectrum.
template <class T, int U> void solve_whole(const Job& job, const Group<T>& g, int lane, Workspace<T, U>& s) {
  const int n = job.dim;
  double *d = reinterpret_cast<double*>(s.spare), *e = d + n, *z = e + n;
  for (int i = 0; i < n; ++i) d[i] = g.t.d[i][lane], e[i] = i + 1 < n ? g.t.e[i][lane] : 0;
  whole_spectrum(n, d, e, z);
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
    // A group beyond the last row repeats the one before it, and is not stored.
    const int64_t first = row + g * W<T>;
    load_group<T, U>(job, first < job.rows ? first : row, s, s.group[g]);
    t[g] = &s.group[g].t;
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
  for (int i = 0; i < n; ++i) y[i] = select<T>(Int<T>(splat_int<T>(i) == cut), Vec<T>{}, y[i]);
  const Vec<T> unit = select<T>(Int<T>(g.t.unit == Vec<T>{}), splat<T>(T(1)), g.t.unit);  // 0 for a zero matrix
  Vec<T> lambda;
  load_rows<T>(input<T>(job.value, job, row, m), 1, [&](int, Vec<T> value) {
    lambda = value / g.unit_outer / g.unit_inner / unit;
  });
  solve_shifted<T>(g.t, n, lambda, cut, s.work, y);
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
    {build::adam<float>, build::adam<double>},
    {build::descend_bytes<float>, build::descend_bytes<double>},
    {build::descend<float>, build::descend<double>},
};
}  // namespace lambdak
