// Sparse design rows times coefficient matrices, and the transpose: the two products of a training step.
#pragma once
#include "kernel.hpp"
#include "simd.hpp"

namespace lambdak::LAMBDAK_ISA {

// Rows of a large table come from main memory: they are requested some time before they are used.
inline void prefetch(const void* data, int64_t bytes) {
  for (int64_t i = 0; i < bytes && i < 4096; i += 64) __builtin_prefetch(static_cast<const char*>(data) + i);
}

// V vectors of one row from column c on, summed in registers over the row's slots: even and odd ones apart, because a sum waits
// for the one before it.
template <class T, int V>
inline void gather_part(const int32_t* ids, const T* weights, int slots, int64_t stride, const T* coef, T* out) {
  Vec<T> even[V] = {}, odd[V] = {};
  const auto add = [&](Vec<T>* sum, int s) {
    if (weights[s] == T(0)) return;  // a value at a knot; what has no weight may be anything
    const T* const from = coef + ids[s] * stride;
    const Vec<T> weight = splat<T>(weights[s]);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[v] += weight * load<T>(from + v * W<T>);
  };
  int s = 0;
  for (; s + 1 < slots; s += 2) add(even, s), add(odd, s + 1);
  if (s < slots) add(even, s);
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) store<T>(out + v * W<T>, even[v] + odd[v]);
}

// Calls work(V) for chunks of at most `most` vectors that add up to `count`, V as a constant: work(Chunk<8>{}), ...
template <int V> struct Chunk {
  static constexpr int size = V;
};
template <int most, class Work> inline void in_chunks(int count, Work work) {
  int first = 0;
  for (; first + most <= count; first += most) work(Chunk<most>{}, first);
  if constexpr (most > 1)
    if (first < count) in_chunks<most - 1>(count - first, [&](auto chunk, int c) { work(chunk, first + c); });
}

template <class T> void gather(const Design& design, int64_t begin, int64_t end, const void* coef, void* packed) {
  constexpr int w = W<T>;
  const T* const weights = static_cast<const T*>(design.weights);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = int64_t(design.rows[i]) * design.slots;
    T* const out = static_cast<T*>(packed) + (i - begin) * design.width;
    if (design.far && i + 1 < end) {
      const int32_t* const next = design.ids + int64_t(design.rows[i + 1]) * design.slots;
      for (int s = 0; s < design.slots; ++s)
        prefetch(static_cast<const T*>(coef) + next[s] * design.stride, design.width * int64_t(sizeof(T)));
    }
    in_chunks<4>(design.width / w, [&](auto chunk, int c) {
      gather_part<T, chunk.size>(design.ids + first, weights + first, design.slots, design.stride, static_cast<const T*>(coef) + c * w,
                                 out + c * w);
    });
  }
}

// V vectors of one row, kept in registers, added to some of its slots' coefficients.
template <class T, int V>
inline void scatter_part(const int32_t* ids, const T* weights, int slots, int64_t stride, const T* from, T* coef) {
  Vec<T> row[V];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) row[v] = load<T>(from + v * W<T>);
  for (int s = 0; s < slots; ++s) {
    if (weights[s] == T(0)) continue;
    T* const to = coef + ids[s] * stride;
    const Vec<T> weight = splat<T>(weights[s]);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store<T>(to + v * W<T>, load<T>(to + v * W<T>) + weight * row[v]);
  }
}

template <class T> void scatter(const Design& design, int64_t begin, int64_t end, const void* packed, void* coef) {
  constexpr int w = W<T>;
  const T* const weights = static_cast<const T*>(design.weights);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = int64_t(design.rows[i]) * design.slots;
    in_chunks<8>(design.width / w, [&](auto chunk, int c) {
      scatter_part<T, chunk.size>(design.ids + first, weights + first, design.slots, design.stride,
                                  static_cast<const T*>(packed) + (i - begin) * design.width + c * w, static_cast<T*>(coef) + c * w);
    });
  }
}

// Rows i0 .. i0+R-1 of out = left right, V vectors from column c on: the block is summed in registers. Their spans lie
// within from .. to.
template <class T, int R, int V> inline void multiply_part(const Product& product, int64_t i0, int c, int from, int to) {
  const T *const left = static_cast<const T*>(product.left), *const right = static_cast<const T*>(product.right);
  const int reach = product.reach, width = product.width;
  Vec<T> sum[R][V];
  const T* const base = static_cast<const T*>(product.base);
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sum[r][v] = base ? load<T>(base + (i0 + r) * width + c + v * W<T>) : Vec<T>{};
  for (int k = from; k < to; ++k) {
    Vec<T> b[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) b[v] = load<T>(right + int64_t(k) * width + c + v * W<T>);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const Vec<T> a = splat<T>(left[(i0 + r) * reach + k - from]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] += a * b[v];
    }
  }
  T* const out = static_cast<T*>(product.out);
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) store<T>(out + (i0 + r) * width + c + v * W<T>, sum[r][v]);
}

template <class T, int R> inline void multiply_rows(const Product& product, int64_t i0) {
  constexpr int V = LAMBDAK_VECTOR_BYTES == 64 ? 4 : 2;
  const int32_t* const spans = product.spans;
  const int from = spans[2 * i0];
  int to = from;
  for (int64_t i = i0; i < i0 + R; ++i) to = spans[2 * i + 1] > to ? spans[2 * i + 1] : to;
  in_chunks<V>((product.last - product.first) / W<T>,
               [&](auto chunk, int c) { multiply_part<T, R, chunk.size>(product, i0, product.first + c * W<T>, from, to); });
}

// As many of `left` rows that begin in the same column as fit blocks of R; then what is left, in smaller blocks.
template <class T, int R> void multiply_alike(const Product& product, int64_t i, int64_t left) {
  for (; left >= R; i += R, left -= R) multiply_rows<T, R>(product, i);
  if constexpr (R > 1)
    if (left > 0) multiply_alike<T, R / 2>(product, i, left);
}

template <class T, int R> void multiply_range(const Product& product, int64_t begin, int64_t end) {
  const int32_t* const spans = product.spans;
  for (int64_t i = begin, next = begin; i < end; i = next) {
    while (next < end && spans[2 * next] == spans[2 * i]) ++next;
    multiply_alike<T, R>(product, i, next - i);
  }
}

// Rows begin .. end-1 of a product. The block of rows and vectors that is summed at once fills the registers.
template <class T> void multiply(const Product& product, int64_t begin, int64_t end) {
  constexpr bool many = LAMBDAK_VECTOR_BYTES == 64;
  const auto work = product.width <= 2 * W<T>   ? multiply_range<T, many ? 12 : 4>
                    : product.width <= 3 * W<T> ? multiply_range<T, many ? 8 : 4>
                                                : multiply_range<T, many ? 6 : 4>;
  work(product, begin, end);
}

// One step of Adam with decoupled weight decay on `count` numbers: θ, but for its first `spared` numbers, shrinks by
// `keep`, then moves by `rate`.
template <class T> void adam(const Adam& step, void* theta_, const void* grad_, void* first_, void* second_, int64_t count) {
  T *const theta = static_cast<T*>(theta_), *const first = static_cast<T*>(first_), *const second = static_cast<T*>(second_);
  const T* const grad = static_cast<const T*>(grad_);
  const T beta1 = T(step.beta1), beta2 = T(step.beta2), rate = T(step.rate), keep = T(step.keep), tiny = T(step.tiny);
  const T correct = T(step.correct);
  for (int64_t i = 0; i < count; i += W<T>) {
    const Vec<T> g = load<T>(grad + i);
    const Vec<T> m = beta1 * load<T>(first + i) + (T(1) - beta1) * g;
    const Vec<T> v = beta2 * load<T>(second + i) + (T(1) - beta2) * g * g;
    store<T>(first + i, m);
    store<T>(second + i, v);
    const T factor = i < step.spared ? T(1) : keep;
    store<T>(theta + i, factor * load<T>(theta + i) - rate * m / (vsqrt(v * correct) + tiny));
  }
}

inline uint32_t largest(const int32_t* ids, int64_t count) {
  uint32_t most = 0;
  for (int64_t i = 0; i < count; ++i) most = uint32_t(ids[i]) > most ? uint32_t(ids[i]) : most;
  return most;
}

inline void add(float* to, const float* from, int64_t count) {
  for (int64_t i = 0; i < count; i += W<float>) store<float>(to + i, load<float>(to + i) + load<float>(from + i));
}

// to += from in whole units, 1 / per_unit each, a power of two; returns the bits of the largest |from|: those of a NaN are
// larger than all others. Sums are right where |from| per_unit < 2^50, since adding 1.5 · 2^52 rounds to whole numbers.
inline uint32_t add_whole(int64_t* to, const float* from, double per_unit, int64_t count) {
  constexpr double rounding = 6755399441055744.0;
  int64_t bias;
  __builtin_memcpy(&bias, &rounding, sizeof bias);
  int32_t most = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double moved = double(from[i]) * per_unit + rounding;
    int64_t whole;
    int32_t bits;
    __builtin_memcpy(&whole, &moved, sizeof whole);
    __builtin_memcpy(&bits, from + i, sizeof bits);
    to[i] += whole - bias;
    bits &= 0x7fffffff;
    most = bits > most ? bits : most;
  }
  return uint32_t(most);
}

// ---- Adam on the rows of a table ---------------------------------------------------------------------------------

// Sizes of what one bucket needs, in whole cache lines: places of the ids it can have, and ids it has at most.
struct Bucket {
  int64_t places, ids;

  Bucket(const Table& table, int64_t most) : places(lines((table.n_ids >> bucket_bits) + 1)), ids(lines(most)) {
    if (places < ids) ids = places;
  }
  static int64_t lines(int64_t n) { return (n + 15) / 16 * 16; }
};

template <class T> int64_t descend_bytes(const Table& table, int64_t most) {
  const Bucket bucket(table, most);
  return 4 * (bucket.places + bucket.ids) + bucket.ids * table.width * int64_t(sizeof(T));
}

// Sums weight · outer[row] for every id of one bucket, in the order of its slots, then takes Adam's step on their rows.
// The places, which come first in the scratch, are zero before and after.
template <class T> void descend(const Adam& step, const Table& table, const void* slots, int64_t count, void* scratch) {
  const Bucket bucket(table, count);
  int32_t *const places = static_cast<int32_t*>(scratch), *const found = places + bucket.places;
  T *const sums = reinterpret_cast<T*>(found + bucket.ids), *const data = static_cast<T*>(table.data);
  const int64_t width = table.width;
  int32_t ids = 0;
  for (const Slot<T>*slot = static_cast<const Slot<T>*>(slots), *const end = slot + count; slot < end; ++slot) {
    int32_t& place = places[slot->id >> bucket_bits];  // counted from one
    if (place == 0) {
      prefetch(data + slot->id * 3 * width, 3 * width * int64_t(sizeof(T)));
      for (int64_t c = 0; c < width; c += W<T>) store<T>(sums + ids * width + c, Vec<T>{});
      found[ids] = slot->id, place = ++ids;
    }
    T* const sum = sums + (place - 1) * width;
    const T* const from = static_cast<const T*>(table.outer) + slot->row * width;
    const Vec<T> weight = splat<T>(slot->weight);
    for (int64_t c = 0; c < width; c += W<T>) store<T>(sum + c, load<T>(sum + c) + weight * load<T>(from + c));
  }
  for (int32_t i = 0; i < ids; ++i) {
    T* const row = data + found[i] * 3 * width;
    adam<T>(step, row, sums + i * width, row + width, row + 2 * width, width);
    places[found[i] >> bucket_bits] = 0;
  }
}

}  // namespace lambdak::LAMBDAK_ISA
