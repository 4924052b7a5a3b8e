// The two active entries of a curve through knots: what steps.cpp writes for columns, and row.cpp for one cell.
#pragma once
#include <cstdint>

namespace lambdak {

// A piecewise linear curve: at least two increasing knots, the first of design column `start`.
struct Curve {
  const double* knots;
  int64_t count;
  int32_t start;
  bool clamp;
};

// Two neighbouring entries per row.
template <class T> struct Entries {
  T* data;
  int64_t stride;
  T* of(int64_t row) const { return data + row * stride; }
};

template <class T>
void fill_curve(Curve curve, const double* x, int64_t begin, int64_t end, Entries<int32_t> ids, Entries<T> weights) {
  const double* const knots = curve.knots;
  for (int64_t i = begin; i < end; ++i) {
    double at = x[i];
    if (curve.clamp) at = at < knots[0] ? knots[0] : at > knots[curve.count - 1] ? knots[curve.count - 1] : at;
    int64_t piece = 0, size = curve.count - 1;  // the last piece whose first knot is not beyond `at`
    while (size > 1) {
      const int64_t half = size / 2;
      piece += knots[piece + half] <= at ? half : 0;
      size -= half;
    }
    const double t = (at - knots[piece]) / (knots[piece + 1] - knots[piece]);
    int32_t* const id = ids.of(i);
    T* const weight = weights.of(i);
    id[0] = curve.start + int32_t(piece), id[1] = curve.start + int32_t(piece) + 1;
    weight[0] = T(1.0 - t), weight[1] = T(t);
  }
}

}  // namespace lambdak
