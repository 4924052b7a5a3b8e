// Constrained columns inside an epoch: C = M (± L Lᵀ), added to what the free columns contribute.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>

#include "factor.hpp"

namespace lambdak {

// theta, first, second; ± M and its transpose with their spans; the negative means of M's columns; share of the decay
using ConeArrays = std::tuple<Out, Out, Out, In, In, In, In, In, double>;

class Cones {
 public:
  Cones() = default;

  Cones(const ConeArrays& arrays, int64_t models, int64_t n_coef, int dim, int64_t width) : dim_(dim), width_(width) {
    const auto f32 = nb::dtype<float>();
    const auto i32 = nb::dtype<int32_t>();
    const auto& [theta, first, second, spread, spread_spans, back, back_spans, constant, share] = arrays;
    size_ = extent(theta, 1), share_ = share, side_ = (dim_ + pad - 1) / pad * pad;
    theta_ = dense_data<float>(theta, "theta of cones", {models, size_, width}, f32);
    first_ = dense_data<float>(first, "first of cones", {models, size_, width}, f32);
    second_ = dense_data<float>(second, "second of cones", {models, size_, width}, f32);
    const int64_t reach = extent(spread, 1), back_reach = extent(back, 1);
    spread_ = {dense_data<float>(spread, "spread", {n_coef, reach}, f32), n_coef, reach,
               dense_data<int32_t>(spread_spans, "spread_spans", {n_coef, 2}, i32)};
    back_ = {dense_data<float>(back, "back", {size_, back_reach}, f32), size_, back_reach,
             dense_data<int32_t>(back_spans, "back_spans", {size_, 2}, i32)};
    spread_.check(size_), back_.check(n_coef);
    means_ = dense_data<float>(constant, "constant", {size_}, f32);
    to_constant_ = whole_spans(1, size_), from_constant_ = whole_spans(size_, 1), square_ = whole_spans(dim_, dim_);
  }

  int64_t size() const { return size_; }

  // Numbers of scratch that a model needs: its steps, and three square matrices.
  int64_t floats() const { return size_ ? size_ * width_ + 3 * dim_ * side_ : 0; }

  // Pulls the gradient of a model's coefficients back to its triangles L, takes Adam's step, and adds M (± L Lᵀ).
  void update(const Kernel* build, int64_t model, Adam rule, double lost, const float* grad, float* coef, float* scratch) const {
    const int64_t own = model * size_ * width_;
    rule.keep = std::max(1.0 - share_ * lost, 0.0), rule.spared = 0;
    pull_back(build, theta_ + own, grad, scratch);
    build->adam[0](rule, theta_ + own, scratch, first_ + own, second_ + own, size_ * width_);
    add(build, theta_ + own, coef, scratch);
  }

 private:
  int64_t size_ = 0, dim_ = 0, width_ = 0, side_ = 0;
  double share_ = 0;
  float *theta_ = nullptr, *first_ = nullptr, *second_ = nullptr;
  const float* means_ = nullptr;
  Factor spread_, back_;
  std::vector<int32_t> to_constant_, from_constant_, square_;

  // steps = the derivative with respect to L, 2 sym(g) L, where g = Mᵀ grad.
  void pull_back(const Kernel* build, const float* theta, const float* grad, float* steps) const {
    float *const left = steps + size_ * width_, *const right = left + dim_ * side_, *const product = right + dim_ * side_;
    back_.multiply(build, 0, grad, steps, nullptr, width_, 0, width_);
    Factor{means_, size_, 1, from_constant_.data()}.multiply(build, 0, grad, steps, steps, width_, 0, width_);
    for (int64_t i = 0; i < size_; ++i) {
      float* const step = steps + i * width_;
      twice(step, left);
      lower(theta + i * width_, right);
      square(build, left, right, product);
      for (int64_t row = 0; row < dim_; ++row) std::memcpy(step + start(row), product + row * side_, size_t(row + 1) * sizeof(float));
      clear_end(step);
    }
  }

  // coef += M (± L Lᵀ)
  void add(const Kernel* build, const float* theta, float* coef, float* steps) const {
    float *const left = steps + size_ * width_, *const right = left + dim_ * side_, *const product = right + dim_ * side_;
    const float root = std::sqrt(2.0f);
    for (int64_t i = 0; i < size_; ++i) {
      float* const step = steps + i * width_;
      lower(theta + i * width_, left);
      for (int64_t row = 0; row < dim_; ++row)
        for (int64_t col = 0; col < dim_; ++col) right[row * side_ + col] = left[col * side_ + row];
      square(build, left, right, product);
      for (int64_t row = 0; row < dim_; ++row) {
        for (int64_t col = 0; col < row; ++col) step[start(row) + col] = root * product[row * side_ + col];
        step[start(row) + row] = product[row * side_ + row];
      }
      clear_end(step);
    }
    spread_.multiply(build, 0, steps, coef, coef, width_, 0, width_);
    Factor{means_, 1, size_, to_constant_.data()}.multiply(build, 0, steps, coef, coef, width_, 0, width_);
  }

  static int64_t start(int64_t row) { return row * (row + 1) / 2; }

  void clear_end(float* packed) const { std::fill(packed + start(dim_), packed + width_, 0.0f); }

  // The lower triangle, (dim, side), with zeros elsewhere.
  void lower(const float* theta, float* matrix) const {
    std::memset(matrix, 0, size_t(dim_ * side_) * sizeof(float));
    for (int64_t row = 0; row < dim_; ++row) std::memcpy(matrix + row * side_, theta + start(row), size_t(row + 1) * sizeof(float));
  }

  // 2 sym(packed), (dim, side).
  void twice(const float* packed, float* matrix) const {
    const float root = std::sqrt(2.0f);
    for (int64_t row = 0; row < dim_; ++row) {
      for (int64_t col = 0; col < row; ++col)
        matrix[row * side_ + col] = matrix[col * side_ + row] = root * packed[start(row) + col];
      matrix[row * side_ + row] = 2 * packed[start(row) + row];
    }
  }

  // out = left right, all (dim, side).
  void square(const Kernel* build, const float* left, const float* right, float* out) const {
    Factor{left, dim_, side_, square_.data()}.multiply(build, 0, right, out, nullptr, side_, 0, side_);
  }
};

}  // namespace lambdak
