// The matrices that one call works on side by side: their place in the scratch buffer, and how they are loaded into it.
#pragma once
#include "kernel.hpp"
#include "reduce.hpp"
#include "sturm.hpp"

namespace lambdak::LAMBDAK_ISA {

// Matrices are worked on in one group of W, or in two whose Sturm recurrences hide each other's latency.
constexpr int64_t two_group_bytes = 256 << 10;
// Two groups are reduced together if their packed matrices fit into the nearest cache.
constexpr int together_bytes = 24 << 10;

// Rows of larger matrices are long enough for the CPU to request them by itself.
constexpr int ahead_bytes = 256 << 10;

inline bool reduced_together(int n) { return 2 * row_start(n) * LAMBDAK_VECTOR_BYTES <= together_bytes; }

inline int groups(const Job& job) {
  const int64_t packed = job.tridiagonal ? 0 : row_start(job.dim);
  return 2 * (packed + 8 * job.dim) * LAMBDAK_VECTOR_BYTES <= two_group_bytes ? 2 : 1;
}

// The matrices of one group of lanes.
template <class T> struct Group {
  Tridiagonal<T> t;
  Vec<T>*packed, *h, *v, *w, *u, *p;
  Vec<T> unit_inner, unit_outer;  // undo the scaling of the input, in two steps that cannot overflow early
  Int<T> bad;                     // lanes with NaN or infinity

  Vec<T> to_input_scale(Vec<T> x) const { return x * t.unit * unit_inner * unit_outer; }
};

// Allocates vectors from the scratch buffer; with a null buffer it only counts them.
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
  Vec<T>* work;          // 4n: vectors
  Vec<T>* vectors;       // n_index n, of one group, in tridiagonal coordinates; n where they are not all kept
  Vec<T>* values;        // n_index, of one group, scaled
  Vec<T>* found;         // n_index U
  Vec<T>* result;        // 2n
  Vec<T>* spare;         // doubles (n + 2) n: one whole spectrum, where several vectors or their derivatives are wanted

  static int64_t lay_out(const Job& job, Arena<T> arena, Workspace* out) {
    Workspace local, &s = out ? *out : local;
    const int n = job.dim;
    for (Group<T>& g : s.group) {
      g.packed = arena.take(job.tridiagonal ? 0 : row_start(n));
      g.t.d = arena.take(n), g.t.e = arena.take(n), g.t.e2 = arena.take(n), g.h = arena.take(n);
    }
    for (Group<T>& g : s.group) {
      const Group<T>& first = s.group[0];
      const bool own = &g == &first || reduced_together(n);
      g.v = own ? arena.take(n) : first.v, g.w = own ? arena.take(n) : first.w;
      g.u = own ? arena.take(n) : first.u, g.p = own ? arena.take(n) : first.p;
    }
    s.work = arena.take(4 * n);
    const bool keep_all = job.vector.data && !job.grad.data;
    s.vectors = arena.take(keep_all ? int64_t(job.n_index) * n : n);
    s.values = arena.take(job.n_index);
    s.found = arena.take(int64_t(job.n_index) * U);
    s.result = arena.take(2 * n);
    const bool whole = (keep_all && job.n_index > 1) || job.grad_vector.data;
    s.spare = arena.take(whole ? (int64_t(n + 2) * n * 8) / LAMBDAK_VECTOR_BYTES + 1 : 0);
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

// Matrices whose largest entry is within these bounds are not scaled; others are scaled to about 1, NaN and infinity to 0.
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

// What follows the entries of a tridiagonal matrix, which were all seen.
template <class T> void settle(Group<T>& g, const Extent<T>& seen, int n) {
  Vec<T>* const parts[] = {g.t.d, g.t.e};
  const int sizes[] = {n, n - 1};
  rescale_input<T>(g, seen, parts, sizes);
  prepare_spectrum<T>(g.t, n);
}

// The rows that follow, if they lie in memory one after the other: as many as `count` groups have.
template <class T> Ahead next_rows(const Job& job, int64_t row, int count) {
  const int64_t size = row_start(job.dim), first = row + count * W<T>, left = job.rows - first;
  const int64_t rows = left < count * W<T> ? left : count * W<T>;
  if (job.matrix.entry != 1 || job.matrix.row != size || rows <= 0 || size * LAMBDAK_VECTOR_BYTES > ahead_bytes) return {};
  const char* const next = reinterpret_cast<const char*>(static_cast<const T*>(job.matrix.data) + first * size);
  const int64_t bytes = rows * size * int64_t(sizeof(T)), steps = job.dim > 2 ? job.dim - 2 : 1;
  return {next, next + bytes, (bytes / steps + 63) / 64 * 64, bytes <= together_bytes / 2};
}

template <class T> void load_bands(const Job& job, int64_t row, Group<T>& g) {
  const int n = job.dim;
  Extent<T> seen;
  load_rows<T>(input<T>(job.matrix, job, row), n, [&](int c, Vec<T> x) { seen.see(x), g.t.d[c] = x; });
  load_rows<T>(input<T>(job.off, job, row), n - 1, [&](int c, Vec<T> x) { seen.see(x), g.t.e[c] = x; });
  settle<T>(g, seen, n);
}

template <class T> Reduction<T> load_packed(const Job& job, int64_t row, Group<T>& g) {
  const int n = job.dim;
  const T* scale = static_cast<const T*>(job.entry_scale);
  Extent<T> seen;
  load_rows<T>(input<T>(job.matrix, job, row), row_start(n), [&](int c, Vec<T> x) {
    x *= scale[c];
    seen.see(x);
    g.packed[c] = x;
  });
  Vec<T>* const parts[] = {g.packed, nullptr};
  const int sizes[] = {row_start(n), 0};
  const Vec<T> least = Lanes<T>::epsilon * Lanes<T>::epsilon * rescale_input<T>(g, seen, parts, sizes);
  return {g.packed, g.t.d, g.t.e, g.h, g.v, g.w, g.u, g.p, least * least};
}

// U groups of packed rows, reduced together.
template <class T, int U> void load_together(const Job& job, int64_t row, Group<T>* groups) {
  Reductions<T, U> reductions;
  for (int g = 0; g < U; ++g) reductions.of[g] = load_packed<T>(job, row + g * W<T>, groups[g]);
  tridiagonalise<T, U>(reductions, job.dim, next_rows<T>(job, row, U));
  for (int g = 0; g < U; ++g) prepare_spectrum<T>(groups[g].t, job.dim);
}

// The tridiagonal matrices of `count` groups of rows.
template <class T> void load_groups(const Job& job, int64_t row, Group<T>* groups, int count) {
  if (count == 2 && !job.tridiagonal && reduced_together(job.dim)) return load_together<T, 2>(job, row, groups);
  for (int g = 0; g < count; ++g)
    job.tridiagonal ? load_bands<T>(job, row + g * W<T>, groups[g]) : load_together<T, 1>(job, row + g * W<T>, groups + g);
}

}  // namespace lambdak::LAMBDAK_ISA
