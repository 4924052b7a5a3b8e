// Sparse design rows times coefficient matrices, and the transpose: the two products of a training step.
#pragma once
#include "kernel.hpp"
#include "simd.hpp"

namespace lambdak::LAMBDAK_ISA {

// V vectors of one row from column c on, summed in registers over the row's slots.
template <class T, int V>
inline void gather_part(const int32_t* ids, const T* weights, int slots, int64_t stride, const T* coef, T* out) {
  Vec<T> sum[V] = {};
  for (int s = 0; s < slots; ++s) {
    const T* const from = coef + ids[s] * stride;
    const Vec<T> weight = splat<T>(weights[s]);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[v] += weight * load<T>(from + v * W<T>);
  }
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) store<T>(out + v * W<T>, sum[v]);
}

template <class T> void gather(const Design& design, int64_t begin, int64_t end, const void* coef, void* packed) {
  constexpr int w = W<T>;
  const T* const weights = static_cast<const T*>(design.weights);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = int64_t(design.rows[i]) * design.slots;
    T* const out = static_cast<T*>(packed) + (i - begin) * design.stride;
    int c = 0;
    for (; c + 8 * w <= design.stride; c += 8 * w)
      gather_part<T, 8>(design.ids + first, weights + first, design.slots, design.stride, static_cast<const T*>(coef) + c, out + c);
    for (; c < design.stride; c += w)
      gather_part<T, 1>(design.ids + first, weights + first, design.slots, design.stride, static_cast<const T*>(coef) + c, out + c);
  }
}

template <class T> void scatter(const Design& design, int64_t begin, int64_t end, const void* packed, void* coef) {
  constexpr int w = W<T>;
  const T* const weights = static_cast<const T*>(design.weights);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = int64_t(design.rows[i]) * design.slots;
    const T* const from = static_cast<const T*>(packed) + (i - begin) * design.stride;
    for (int s = 0; s < design.slots; ++s) {
      T* const to = static_cast<T*>(coef) + design.ids[first + s] * int64_t(design.stride);
      const Vec<T> weight = splat<T>(weights[first + s]);
      for (int c = 0; c < design.stride; c += w) store<T>(to + c, load<T>(to + c) + weight * load<T>(from + c));
    }
  }
}

// Rows i0 .. i0+R-1 of out = left right, V vectors from column c on: the block is summed in registers.
template <class T, int R, int V>
inline void multiply_part(const T* left, const T* right, T* out, int inner, int width, int64_t i0, int c, int from, int to) {
  Vec<T> sum[R][V] = {};
  for (int k = from; k < to; ++k) {
    Vec<T> b[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) b[v] = load<T>(right + int64_t(k) * width + c + v * W<T>);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      const Vec<T> a = splat<T>(left[(i0 + r) * inner + k]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] += a * b[v];
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) store<T>(out + (i0 + r) * width + c + v * W<T>, sum[r][v]);
}

template <class T, int R>
inline void multiply_rows(const T* left, const T* right, T* out, int inner, int width, int64_t i0, const int32_t* spans) {
  constexpr int V = LAMBDAK_VECTOR_BYTES == 64 ? 4 : 2;
  int from = inner, to = 0;
  for (int64_t i = i0; i < i0 + R; ++i) {
    from = spans[2 * i] < from ? spans[2 * i] : from;
    to = spans[2 * i + 1] > to ? spans[2 * i + 1] : to;
  }
  int c = 0;
  for (; c + V * W<T> <= width; c += V * W<T>) multiply_part<T, R, V>(left, right, out, inner, width, i0, c, from, to);
  for (; c < width; c += W<T>) multiply_part<T, R, 1>(left, right, out, inner, width, i0, c, from, to);
}

// Rows begin .. end-1 of out (rows, width) = left (rows, inner) right (inner, width), width a multiple of `pad`;
// spans (rows, 2) say between which columns a row of `left` can differ from zero.
template <class T>
void multiply(const void* left, const void* right, void* out, int inner, int width, const int32_t* spans, int64_t begin, int64_t end) {
  constexpr int R = LAMBDAK_VECTOR_BYTES == 64 ? 6 : 4;
  const T *const a = static_cast<const T*>(left), *const b = static_cast<const T*>(right);
  int64_t i = begin;
  for (; i + R <= end; i += R) multiply_rows<T, R>(a, b, static_cast<T*>(out), inner, width, i, spans);
  for (; i < end; ++i) multiply_rows<T, 1>(a, b, static_cast<T*>(out), inner, width, i, spans);
}

// One step of Adam with decoupled weight decay on `count` numbers: θ shrinks by `keep`, then moves by `rate`.
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
    store<T>(theta + i, keep * load<T>(theta + i) - rate * m / (vsqrt(v * correct) + tiny));
  }
}

}  // namespace lambdak::LAMBDAK_ISA
