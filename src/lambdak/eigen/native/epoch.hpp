// One epoch of a stack of models: what the bindings of a whole epoch and of one that is shared among machines have in common.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>

#include "cones.hpp"
#include "row_loss.hpp"

namespace lambdak {

using Target = std::tuple<In, std::optional<In>, std::optional<In>>;  // y, importance, offset
using Head = std::tuple<int, int, int, std::vector<double>, double, std::string, std::vector<double>>;
using State = std::tuple<Out, Out, Out, Out, std::optional<ConeArrays>>;           // theta, first, second, coef, cones
using BasisArrays = std::tuple<In, In, In, In, In, In, In, std::vector<int64_t>>;  // as lambdak.eigen.engine.Basis
using Pace = std::tuple<std::vector<double>, std::vector<double>, int64_t, double, double, double>;
using Rows = std::tuple<DesignRows, Target>;

// Rows to train on, cut into batches of (almost) the same size.
struct Shard {
  Design design;
  int64_t n, length, batches;
  const int32_t* order;
  const double *y, *importance = nullptr, *offset = nullptr;

  int64_t begin(int64_t batch) const { return batch * (length / batches) + std::min(batch, length % batches); }
  int64_t count(int64_t batch) const { return length / batches + (batch < length % batches); }
  int64_t chunks(int64_t batch) const { return (count(batch) + step_rows - 1) / step_rows; }
  const int32_t* rows(int64_t member, int64_t batch) const { return order + member * length + begin(batch); }
};

// The loss of some rows and their weight, summed up.
struct LossSum {
  double sum = 0, mass = 0;
};

struct Epoch {
  Job solve, outer;
  RowLoss loss{RowLoss::Kind::squared_error};
  int64_t members, pencils, models, batches, most = 1, n_coef, size, width, joint, parts, steps_before;
  double scale, beta1, beta2, tiny;
  std::vector<double> start, rates, decays;
  std::vector<int64_t> which;
  float *theta, *first, *second, *coef;
  Factor left, back, thin, wide, mixing, constant;
  Cones cones;
  std::vector<int32_t> thin_spans, wide_spans, mixing_spans;
  int32_t constant_span[2];
  std::vector<Guess> guess;
  Indices index;
  float *values, *vectors, *slopes, *grads, *grad_theta, *mixed, *inner, *bends;  // of all models
  const Kernel* build = active;

  Epoch(const Head& head, const State& state, const BasisArrays& basis, const Pace& pace);
  Shard read_rows(const Rows& rows) const;
  void reserve(int64_t most_rows);
  size_t scratch_bytes() const;

  void forward(const Shard& shard, int64_t batch, int64_t model, int64_t chunk, void* scratch);
  LossSum slope(const Shard& shard, int64_t batch, int64_t member, int64_t total);
  void backward(const Shard& shard, int64_t batch, int64_t model, int64_t part, void* scratch);
  void update(int64_t batch, int64_t model, int64_t from, int64_t to);
  void update(int64_t batch, int threads);
  void bend(int64_t batch, int64_t model);
  bool alone(int threads) const;

 private:
  void read_basis(const BasisArrays& basis);
  Adam rule(int64_t batch, double keep) const;
};

}  // namespace lambdak
