// Steps that several processes take together: each has some shards of the rows, and the gradients of all shards are summed.
//
// A shard's gradient is rounded to whole multiples of a unit far below the digits that Adam sees. Whole numbers have the
// same sum in any order, so the result does not depend on which process has which shard, nor on how they are connected.
#include "epoch.hpp"

namespace lambdak {
namespace {

constexpr int first_exponent = 40;              // the unit is 2^-40 unless a gradient is too large for it
constexpr int coarser = 16;                     // by which the exponent falls then
constexpr int last_exponent = -152;             // beyond, a float32 would be infinite
constexpr double largest = 1125899906842624.0;  // 2^50, in units: 2^12 shards have room

using Together = std::tuple<std::vector<int64_t>, Out, nb::callable>;  // totals, sums, what sums them over all processes

struct SharedEpoch : Epoch {
  std::vector<Shard> shards;
  std::vector<int64_t> totals;  // rows of each step in all shards of all processes
  int64_t* sums;                // (models, n_coef, width), and at last how many gradients were too large
  std::vector<LossSum> losses;  // (shards, members)

  SharedEpoch(const std::vector<Rows>& given, const Head& head, const State& state, const BasisArrays& basis, const Pace& pace, const Together& together)
      : Epoch(head, state, basis, pace), totals(std::get<0>(together)) {
    sums = dense_data<int64_t>(std::get<1>(together), "sums", {models * n_coef * width + 1}, nb::dtype<int64_t>());
    if (int64_t(totals.size()) != batches) throw nb::value_error("totals must have one number per step");
    int64_t most_rows = 1;
    for (const Rows& rows : given) shards.push_back(read_rows(rows)), most_rows = std::max(most_rows, shards.back().count(0));
    reserve(most_rows);
    losses.resize(shards.size() * size_t(members));
  }

  int64_t per_model() const { return n_coef * width; }

  // Adds a model's gradient to the sums, in whole units; says whether it fits into them.
  bool add(int64_t model, double per_unit) {
    float* const grad = grads + model * parts * per_model();
    for (int64_t part = 1; part < parts; ++part) build->add(grad, grad + part * per_model(), per_model());
    const uint32_t bits = build->add_whole(sums + model * per_model(), grad, per_unit, per_model());
    return double(std::bit_cast<float>(bits)) * per_unit < largest;  // false for what is not a number
  }

  // One member's gradient on one thread, shard by shard.
  bool member_alone(int64_t batch, int64_t member, double per_unit, void* scratch, std::vector<LossSum>& seen) {
    bool fits = true;
    for (size_t k = 0; k < shards.size(); ++k) {
      const Shard& shard = shards[k];
      if (!shard.count(batch)) continue;
      for (int64_t model = member * pencils; model < (member + 1) * pencils; ++model)
        for (int64_t chunk = 0; chunk < shard.chunks(batch); ++chunk) forward(shard, batch, model, chunk, scratch);
      seen[k * size_t(members) + size_t(member)] = slope(shard, batch, member, totals[size_t(batch)]);
      for (int64_t model = member * pencils; model < (member + 1) * pencils; ++model) {
        for (int64_t part = 0; part < parts; ++part) backward(shard, batch, model, part, scratch);
        fits &= add(model, per_unit);
      }
    }
    return fits;
  }

  // The same of all members on all threads, where there are too few members for them.
  bool members_together(int64_t batch, double per_unit, int threads, std::vector<LossSum>& seen) {
    const size_t bytes = scratch_bytes();
    std::atomic<bool> fits{true};
    for (size_t k = 0; k < shards.size(); ++k) {
      const Shard& shard = shards[k];
      const int64_t pieces = shard.chunks(batch);
      if (!pieces) continue;
      in_parallel(models * pieces, threads, bytes, [&](int64_t task, void* scratch) { forward(shard, batch, task / pieces, task % pieces, scratch); });
      in_parallel(members, threads, 0, [&](int64_t member, void*) { seen[k * size_t(members) + size_t(member)] = slope(shard, batch, member, totals[size_t(batch)]); });
      in_parallel(models * parts, threads, bytes, [&](int64_t task, void* scratch) { backward(shard, batch, task / parts, task % parts, scratch); });
      in_parallel(models, threads, 0, [&](int64_t model, void*) {
        if (!add(model, per_unit)) fits = false;
      });
    }
    return fits;
  }

  // Fills the sums of this process with the gradient of one batch.
  void fill(int64_t batch, double per_unit, int threads, std::vector<LossSum>& seen) {
    std::fill(sums, sums + models * per_model() + 1, 0);
    std::atomic<bool> fits{true};
    if (alone(threads)) {
      in_parallel(members, threads, scratch_bytes(), [&](int64_t member, void* scratch) {
        if (!member_alone(batch, member, per_unit, scratch, seen)) fits = false;
      });
    } else {
      fits = members_together(batch, per_unit, threads, seen);
    }
    sums[models * per_model()] = !fits;
  }

  // The sum over all processes, as gradients: with coarser units while a gradient is too large.
  void gradient(int64_t batch, int threads, const nb::callable& reduce) {
    std::vector<LossSum> seen(losses.size());
    int exponent = first_exponent;
    while (true) {
      fill(batch, std::ldexp(1.0, exponent), threads, seen);
      reduce();
      if (!sums[models * per_model()]) break;
      exponent -= coarser;
      if (exponent < last_exponent) throw nb::value_error("the gradient is not finite");
    }
    for (size_t i = 0; i < seen.size(); ++i) losses[i].sum += seen[i].sum, losses[i].mass += seen[i].mass;
    const double unit = std::ldexp(1.0, -exponent);
    in_parallel(models, threads, 0, [&](int64_t model, void*) {
      float* const grad = grads + model * parts * per_model();
      const int64_t* const sum = sums + model * per_model();
      for (int64_t i = 0; i < per_model(); ++i) grad[i] = float(double(sum[i]) * unit);
      std::fill(grad + per_model(), grad + parts * per_model(), 0.0f);
    });
  }

  void run(int threads, const nb::callable& reduce) {
    for (int64_t batch = 0; batch < batches; ++batch) {
      gradient(batch, threads, reduce);
      update(batch, threads);
    }
  }

  using Epoch::update;
};

// (sum, mass) of the losses of every shard and member.
std::vector<std::tuple<double, double>> shared_epoch(const std::vector<Rows>& shards, const Head& head, const State& state, const BasisArrays& basis,
                                                     const Pace& pace, const Together& together, int threads) {
  SharedEpoch all(shards, head, state, basis, pace, together);
  all.run(threads, std::get<2>(together));
  std::vector<std::tuple<double, double>> losses;
  for (const LossSum& each : all.losses) losses.emplace_back(each.sum, each.mass);
  return losses;
}

}  // namespace

void bind_shared_epoch(nb::module_& m) {
  m.def("shared_epoch", &shared_epoch, nb::arg("shards"), nb::arg("head"), nb::arg("state").noconvert(), nb::arg("basis"), nb::arg("pace"),
        nb::arg("together").noconvert(), nb::arg("threads"));
}

}  // namespace lambdak
