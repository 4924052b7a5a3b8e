// W matrices side by side: lane l of every vector belongs to matrix l of the group.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace lambdak::LAMBDAK_ISA {

template <class T> struct Lanes;

template <> struct Lanes<float> {
  typedef float Vec __attribute__((vector_size(LAMBDAK_VECTOR_BYTES), aligned(LAMBDAK_VECTOR_BYTES)));
  typedef int32_t Int __attribute__((vector_size(LAMBDAK_VECTOR_BYTES), aligned(LAMBDAK_VECTOR_BYTES)));
  using Scalar = int32_t;
  static constexpr int mantissa_bits = 23, exponent_bias = 127, exponent_mask = 0x7f800000;
  static constexpr float epsilon = 1.1920929e-7f;
};

template <> struct Lanes<double> {
  typedef double Vec __attribute__((vector_size(LAMBDAK_VECTOR_BYTES), aligned(LAMBDAK_VECTOR_BYTES)));
  typedef int64_t Int __attribute__((vector_size(LAMBDAK_VECTOR_BYTES), aligned(LAMBDAK_VECTOR_BYTES)));
  using Scalar = int64_t;
  static constexpr int mantissa_bits = 52, exponent_bias = 1023;
  static constexpr int64_t exponent_mask = 0x7ff0000000000000;
  static constexpr double epsilon = 2.220446049250313e-16;
};

template <class T> using Vec = typename Lanes<T>::Vec;
template <class T> using Int = typename Lanes<T>::Int;
template <class T> inline constexpr int W = LAMBDAK_VECTOR_BYTES / int(sizeof(T));

template <class T> inline Vec<T> splat(T x) { return Vec<T>{} + x; }
template <class T> inline Int<T> splat_int(int64_t x) { return Int<T>{} + typename Lanes<T>::Scalar(x); }
template <class T> inline Vec<T> select(Int<T> mask, Vec<T> yes, Vec<T> no) { return mask ? yes : no; }
template <class T> inline Int<T> select_int(Int<T> mask, Int<T> yes, Int<T> no) { return mask ? yes : no; }

template <class T, int... L> inline Int<T> lane_numbers(std::integer_sequence<int, L...>) { return Int<T>{L...}; }
template <class T> inline Int<T> lane_number() { return lane_numbers<T>(std::make_integer_sequence<int, W<T>>{}); }

template <class T> inline Vec<T> vabs(Vec<T> x) {
  return Vec<T>(Int<T>(x) & splat_int<T>(sizeof(T) == 4 ? 0x7fffffff : 0x7fffffffffffffff));
}
template <class T> inline Vec<T> vmax(Vec<T> a, Vec<T> b) {  // b where a is NaN
#if LAMBDAK_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4)
    return Vec<T>(_mm512_maskz_max_ps(__mmask16(-1), __m512(a), __m512(b)));
  else
    return Vec<T>(_mm512_maskz_max_pd(__mmask8(-1), __m512d(a), __m512d(b)));
#else
  return a > b ? a : b;
#endif
}
template <class T> inline Vec<T> vmin(Vec<T> a, Vec<T> b) {  // b where a is NaN
#if LAMBDAK_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4)
    return Vec<T>(_mm512_maskz_min_ps(__mmask16(-1), __m512(a), __m512(b)));
  else
    return Vec<T>(_mm512_maskz_min_pd(__mmask8(-1), __m512d(a), __m512d(b)));
#else
  return a < b ? a : b;
#endif
}
template <class T> inline Int<T> vmax_int(Int<T> a, Int<T> b) { return a > b ? a : b; }
template <class T> inline Int<T> vmin_int(Int<T> a, Int<T> b) { return a < b ? a : b; }
// |magnitude| with the sign of `sign`
template <class T> inline Vec<T> with_sign(Vec<T> magnitude, Vec<T> sign) {
  const Int<T> rest = splat_int<T>(sizeof(T) == 4 ? 0x7fffffff : 0x7fffffffffffffff);
  return Vec<T>((Int<T>(magnitude) & rest) | (Int<T>(sign) & ~rest));
}
template <class T> inline Int<T> negative(Vec<T> x) { return Int<T>(x) >> int(8 * sizeof(T) - 1); }

inline Vec<float> vsqrt(Vec<float> x) {
#if LAMBDAK_VECTOR_BYTES == 64
  return Vec<float>(_mm512_maskz_sqrt_ps(__mmask16(-1), __m512(x)));
#elif LAMBDAK_VECTOR_BYTES == 32
  return Vec<float>(_mm256_sqrt_ps(__m256(x)));
#elif defined(__SSE2__)
  return Vec<float>(_mm_sqrt_ps(__m128(x)));
#else
  for (int l = 0; l < W<float>; ++l) x[l] = __builtin_sqrtf(x[l]);
  return x;
#endif
}
inline Vec<double> vsqrt(Vec<double> x) {
#if LAMBDAK_VECTOR_BYTES == 64
  return Vec<double>(_mm512_maskz_sqrt_pd(__mmask8(-1), __m512d(x)));
#elif LAMBDAK_VECTOR_BYTES == 32
  return Vec<double>(_mm256_sqrt_pd(__m256d(x)));
#elif defined(__SSE2__)
  return Vec<double>(_mm_sqrt_pd(__m128d(x)));
#else
  for (int l = 0; l < W<double>; ++l) x[l] = __builtin_sqrt(x[l]);
  return x;
#endif
}

// a b - c with the rounding and latency of one operation after c, where the CPU has it
template <class T> inline Vec<T> multiply_subtract(Vec<T> a, Vec<T> b, Vec<T> c) {
#if LAMBDAK_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4)
    return Vec<T>(_mm512_fmsub_ps(__m512(a), __m512(b), __m512(c)));
  else
    return Vec<T>(_mm512_fmsub_pd(__m512d(a), __m512d(b), __m512d(c)));
#elif LAMBDAK_VECTOR_BYTES == 32
  if constexpr (sizeof(T) == 4)
    return Vec<T>(_mm256_fmsub_ps(__m256(a), __m256(b), __m256(c)));
  else
    return Vec<T>(_mm256_fmsub_pd(__m256d(a), __m256d(b), __m256d(c)));
#elif defined(__aarch64__)
  if constexpr (sizeof(T) == 4)
    return Vec<T>(vfmaq_f32(float32x4_t(-c), float32x4_t(a), float32x4_t(b)));
  else
    return Vec<T>(vfmaq_f64(float64x2_t(-c), float64x2_t(a), float64x2_t(b)));
#else
  return a * b - c;
#endif
}

template <class T> inline bool any(Int<T> mask) {
#if LAMBDAK_VECTOR_BYTES == 64
  return _mm512_test_epi64_mask(__m512i(mask), __m512i(mask)) != 0;
#else
  uint64_t words[LAMBDAK_VECTOR_BYTES / 8], joined = 0;
  std::memcpy(words, &mask, sizeof words);
  for (uint64_t word : words) joined |= word;
  return joined != 0;
#endif
}

// 2^(biased exponent - bias) as a floating-point number
template <class T> inline Vec<T> power_of_two(Int<T> biased) { return Vec<T>(biased << Lanes<T>::mantissa_bits); }

// ---- moving rows into lanes and back --------------------------------------------------------------------------

template <class T> inline Vec<T> load(const T* p) {
  Vec<T> x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
template <class T> inline void store(T* p, Vec<T> x) { std::memcpy(p, &x, sizeof x); }

// The first n < W elements only: nothing beyond them is touched.
template <class T> inline Vec<T> load_part(const T* p, int n) {
#if LAMBDAK_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4)
    return Vec<T>(_mm512_maskz_loadu_ps(__mmask16((1u << n) - 1), p));
  else
    return Vec<T>(_mm512_maskz_loadu_pd(__mmask8((1u << n) - 1), p));
#else
  Vec<T> x{};
  for (int i = 0; i < n; ++i) x[i] = p[i];
  return x;
#endif
}
template <class T> inline void store_part(T* p, Vec<T> x, int n) {
#if LAMBDAK_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1), __m512(x));
  else
    _mm512_mask_storeu_pd(p, __mmask8((1u << n) - 1), __m512d(x));
#else
  for (int i = 0; i < n; ++i) p[i] = x[i];
#endif
}

template <class T, int H, bool Upper, int... L>
inline Vec<T> butterfly(Vec<T> a, Vec<T> b, std::integer_sequence<int, L...>) {
  constexpr int w = W<T>;
  if constexpr (Upper)
    return __builtin_shufflevector(a, b, ((L & H) ? w + L : L + H)...);
  else
    return __builtin_shufflevector(a, b, ((L & H) ? w + L - H : L)...);
}

template <class T, int H> inline void transpose_stage(Vec<T>* r) {
  using Seq = std::make_integer_sequence<int, W<T>>;
#pragma GCC unroll 16
  for (int i = 0; i < W<T>; ++i)
    if (!(i & H)) {
      const Vec<T> a = r[i], b = r[i + H];
      r[i] = butterfly<T, H, false>(a, b, Seq{});
      r[i + H] = butterfly<T, H, true>(a, b, Seq{});
    }
}

template <class T> inline void transpose(Vec<T>* r) {
  if constexpr (W<T> >= 16) transpose_stage<T, 8>(r);
  if constexpr (W<T> >= 8) transpose_stage<T, 4>(r);
  if constexpr (W<T> >= 4) transpose_stage<T, 2>(r);
  transpose_stage<T, 1>(r);
}

// A (rows, cols) array with element strides; `rows` counts what is left from the first lane on.
template <class T> struct Rows {
  T* data;
  int64_t rows, row_stride, col_stride;

  int lanes() const { return rows < W<T> ? int(rows) : W<T>; }
  T* row(int lane) const { return data + lane * row_stride; }
};

// Calls sink(col, lanes) for every column; lanes beyond the last row repeat it.
template <class T, class Sink> inline void load_rows(Rows<const T> in, int cols, Sink sink) {
  constexpr int w = W<T>;
  const int lanes = in.lanes();
  if (in.row_stride == 1 && lanes == w) {
    for (int c = 0; c < cols; ++c) sink(c, load<T>(in.data + c * in.col_stride));
    return;
  }
  const T* row[w];
  for (int l = 0; l < w; ++l) row[l] = in.data + (l < lanes ? l : lanes - 1) * in.row_stride;
  if (in.col_stride != 1 || cols == 1) {
    for (int c = 0; c < cols; ++c) {
      Vec<T> x;
      for (int l = 0; l < w; ++l) x[l] = row[l][c * in.col_stride];
      sink(c, x);
    }
    return;
  }
  Vec<T> block[w];
  int c0 = 0;
  for (; c0 + w <= cols; c0 += w) {
#pragma GCC unroll 16
    for (int l = 0; l < w; ++l) block[l] = load<T>(row[l] + c0);
    transpose<T>(block);
#pragma GCC unroll 16
    for (int l = 0; l < w; ++l) sink(c0 + l, block[l]);
  }
  if (c0 == cols) return;
  for (int l = 0; l < w; ++l) block[l] = load_part<T>(row[l] + c0, cols - c0);
  transpose<T>(block);
  for (int c = c0; c < cols; ++c) sink(c, block[c - c0]);
}

// Writes the lanes source(col) to the rows.
template <class T, class Source> inline void store_rows(Rows<T> out, int cols, Source source) {
  constexpr int w = W<T>;
  const int lanes = out.lanes();
  if (out.row_stride == 1 && lanes == w) {
    for (int c = 0; c < cols; ++c) store<T>(out.data + c * out.col_stride, source(c));
    return;
  }
  if (out.col_stride != 1 || cols == 1) {
    for (int c = 0; c < cols; ++c) {
      const Vec<T> x = source(c);
      for (int l = 0; l < lanes; ++l) out.row(l)[c * out.col_stride] = x[l];
    }
    return;
  }
  Vec<T> block[w];
  int c0 = 0;
  for (; c0 + w <= cols; c0 += w) {
#pragma GCC unroll 16
    for (int l = 0; l < w; ++l) block[l] = source(c0 + l);
    transpose<T>(block);
    for (int l = 0; l < lanes; ++l) store<T>(out.row(l) + c0, block[l]);
  }
  if (c0 == cols) return;
  for (int c = c0; c < c0 + w; ++c) block[c - c0] = c < cols ? source(c) : Vec<T>{};
  transpose<T>(block);
  for (int l = 0; l < lanes; ++l) store_part<T>(out.row(l) + c0, block[l], cols - c0);
}

}  // namespace lambdak::LAMBDAK_ISA
