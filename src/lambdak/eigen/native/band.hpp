// The training step of one tridiagonal model, its rows in the lanes from the first entry to the last sum.
#pragma once
#include "solve.hpp"

namespace lambdak::LAMBDAK_ISA {

// What a model's rows need besides the eigenproblem: their points, and the sums of the gradient lane by lane.
template <class T> struct BandSums {
  Vec<T>* points;  // U inputs
  Vec<T>* sums;    // inputs (2 n - 1), and zeros up to whole blocks
  int64_t count;   // of the sums

  BandSums(const Band& band, Arena<T>& arena, int groups) {
    count = (int64_t(band.inputs) * (2 * band.job.dim - 1) + W<T> - 1) / W<T> * W<T>;
    points = arena.take(int64_t(groups) * band.inputs);
    sums = arena.take(count);
  }
};

// Entries of A = Σ_s x_s coef[s] at the rows of one group, the off-diagonals without their √2.
template <class T> void load_band(const Band& band, const Vec<T>* x, Group<T>& g) {
  const int n = band.job.dim;
  const T root_half = T(0.70710678118654752440), *const coef = static_cast<const T*>(band.coef);
  Extent<T> seen;
  const auto entry = [&](int c) {
    Vec<T> sum = x[0] * coef[c];
    for (int s = 1; s < band.inputs; ++s) sum += x[s] * coef[s * band.stride + c];
    return sum;
  };
  for (int c = 0; c < n; ++c) seen.see(g.t.d[c] = entry(c));
  for (int c = 0; c + 1 < n; ++c) seen.see(g.t.e[c] = root_half * entry(n + c));
  settle<T>(g, seen, n);
}

// Adds slope · (v_c², √2 v_c v_(c+1)) · x_s.
template <class T> void add_band(const Band& band, const Vec<T>* x, Vec<T> slope, const Vec<T>* v, Vec<T>* sums) {
  const int n = band.job.dim, width = 2 * n - 1;
  const T root_two = T(1.41421356237309504880);
  for (int c = 0; c < width; ++c) {
    const Vec<T> grad = c < n ? slope * v[c] * v[c] : root_two * slope * v[c - n] * v[c - n + 1];
    for (int s = 0; s < band.inputs; ++s) sums[s * width + c] += grad * x[s];
  }
}

// One number per vector: the sum over its lanes.
template <class T> void store_band(const Band& band, Vec<T>* sums, int64_t count) {
  const int width = 2 * band.job.dim - 1;
  T *const grad = static_cast<T*>(band.grad), *const total = reinterpret_cast<T*>(sums);
  for (int64_t c = 0; c < count; c += W<T>) {
    Vec<T>* const block = sums + c;
    transpose<T>(block);
    Vec<T> sum = block[0];
    for (int l = 1; l < W<T>; ++l) sum += block[l];
    store<T>(total + c, sum);  // behind what is still to be read
  }
  for (int s = 0; s < band.inputs; ++s)
    for (int c = 0; c < width; ++c) grad[s * band.grad_stride + c] = total[s * width + c];
}

constexpr int band_groups = 2;

template <class T> int64_t band_bytes(const Band& band) {
  Arena<T> arena{nullptr};
  arena.used = Workspace<T, band_groups>::lay_out(band.job, arena, nullptr);
  const BandSums<T> room(band, arena, band_groups);
  return arena.used * LAMBDAK_VECTOR_BYTES;
}

template <class T> void band_gradient(const Band& band, void* scratch) {
  constexpr int U = band_groups;
  const Job& job = band.job;
  Workspace<T, U> s;
  Arena<T> arena{static_cast<Vec<T>*>(scratch)};
  arena.used = Workspace<T, U>::lay_out(job, arena, &s);
  const BandSums<T> room(band, arena, U);
  for (int64_t i = 0; i < room.count; ++i) room.sums[i] = Vec<T>{};
  const T *const points = static_cast<const T*>(band.points), *const target = static_cast<const T*>(band.target);
  const Vec<T> nan = splat<T>(T(__builtin_nan("")));
  for (int64_t row = 0; row < job.rows; row += U * W<T>) {
    const Tridiagonal<T>* t[U];
    for (int g = 0; g < U; ++g) {
      const int64_t first = row + g * W<T>;
      t[g] = &s.group[first < job.rows ? g : 0].t;
      if (first >= job.rows) continue;
      Vec<T>* const x = room.points + g * band.inputs;
      load_rows<T>({points + first * band.inputs, job.rows - first, band.inputs, 1}, band.inputs, [&](int c, Vec<T> entry) { x[c] = entry; });
      load_band<T>(band, x, s.group[g]);
    }
    find_eigenvalue<T, U>(t, job.dim, job.index[0], job.guess[0], s.found);
    for (int g = 0; g < U && row + g * W<T> < job.rows; ++g) {
      const int64_t first = row + g * W<T>, left = job.rows - first;
      const Vec<T> y = left < W<T> ? load_part<T>(target + first, int(left)) : load<T>(target + first);
      s.values[0] = s.found[g];
      find_vectors<T, U>(job, s.group[g], s);
      const Vec<T> value = select<T>(s.group[g].bad, nan, s.group[g].to_input_scale(s.values[0]));
      const Vec<T> slope = select<T>(lane_number<T>() < splat_int<T>(left), T(2.0 / double(job.rows)) * (value - y), Vec<T>{});
      add_band<T>(band, room.points + g * band.inputs, slope, s.vectors, room.sums);
    }
  }
  store_band<T>(band, room.sums, room.count);
}

}  // namespace lambdak::LAMBDAK_ISA
