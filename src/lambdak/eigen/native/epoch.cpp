// A whole epoch of lambdak.eigen._kernel in one call: forward, loss, backward, pull-back, Adam and write, batch by batch.
#include "epoch.hpp"

namespace lambdak {
namespace {

const auto f32 = nb::dtype<float>();
const auto f64 = nb::dtype<double>();
const auto i32 = nb::dtype<int32_t>();

}  // namespace

Epoch::Epoch(const Head& head, const State& state, const BasisArrays& basis, const Pace& pace) {
  const auto& [dim, position, per_member, starts, unit, name, numbers] = head;
  const auto named = RowLoss::named(name, numbers);
  if (!named || dim < 1 || dim > max_dim || per_member < 1 || int64_t(starts.size()) != per_member) throw nb::value_error("bad loss, dim or start");
  if ((named->kind == RowLoss::Kind::softmax) != (per_member > 1)) throw nb::value_error("softmax is the loss of several pencils");
  index = {position}, check_index(index, dim);
  loss = *named, pencils = per_member, start = starts, scale = unit;
  std::tie(rates, decays, steps_before, beta1, beta2, tiny) = pace;
  const auto& [theta_, first_, second_, coef_, cones_] = state;
  models = extent(theta_, 0), size = extent(theta_, 1), n_coef = extent(coef_, 1), batches = int64_t(rates.size());
  width = (int64_t(dim) * (dim + 1) / 2 + pad - 1) / pad * pad;
  theta = dense_data<float>(theta_, "theta", {models, size, width}, f32), first = dense_data<float>(first_, "first", {models, size, width}, f32);
  second = dense_data<float>(second_, "second", {models, size, width}, f32), coef = dense_data<float>(coef_, "coef", {models, n_coef, width}, f32);
  members = models / pencils;
  if (models < 1 || models % pencils || int64_t(decays.size()) != models || size < 1) throw nb::value_error("decay must have one number per model");
  solve.dim = outer.dim = dim, solve.n_index = outer.n_index = 1;
  read_basis(basis);
  if (cones_) cones = Cones(*cones_, models, n_coef, dim, width);
  parts = std::max<int64_t>(1, 4 / models);
}

Shard Epoch::read_rows(const Rows& rows) const {
  const auto& [sparse, target] = rows;
  const auto& [ids, weights, order_] = sparse;
  const auto& [y_, importance_, offset_] = target;
  Shard shard;
  Design& design = shard.design;
  const int64_t n = shard.n = extent(ids, 0), length = shard.length = extent(order_, 1);
  design.slots = int(extent(ids, 1)), shard.batches = batches;
  design.width = int(width), design.stride = width, design.far = n_coef * width * 4 > (4 << 20);
  design.ids = dense_data<int32_t>(ids, "ids", {n, design.slots}, i32);
  design.weights = dense_data<float>(weights, "weights", {n, design.slots}, f32);
  shard.order = dense_data<int32_t>(order_, "rows", {members, length}, i32);
  shard.y = dense_data<double>(y_, "y", {n}, f64);
  if (importance_) shard.importance = dense_data<double>(*importance_, "importance", {n}, f64);
  if (offset_) shard.offset = dense_data<double>(*offset_, "offset", {n}, f64);
  const auto within = [&](const int32_t* ids, int64_t many, int64_t end) { return int64_t(build->largest(ids, many)) < end; };
  if (!within(shard.order, members * length, n)) throw nb::value_error("rows holds a row that does not exist");
  if (!within(design.ids, n * design.slots, n_coef)) throw nb::value_error("ids holds a coefficient that does not exist");
  if (loss.kind == RowLoss::Kind::softmax)
    for (int64_t i = 0; i < n; ++i)
      if (!(shard.y[i] >= 0 && shard.y[i] < double(pencils))) throw nb::value_error("y holds a class that does not exist");
  return shard;
}

void Epoch::read_basis(const BasisArrays& basis) {
  const auto& [left_, left_spans, back_, back_spans, thin_, wide_, constant_, kinds_] = basis;
  const int64_t kinds = extent(left_, 0), reach = extent(left_, 2), back_reach = extent(back_, 2);
  joint = extent(thin_, 1), which = kinds_;
  left = {dense_data<float>(left_, "left", {kinds, n_coef, reach}, f32), n_coef, reach, dense_data<int32_t>(left_spans, "left_spans", {n_coef, 2}, i32)};
  back = {dense_data<float>(back_, "back", {kinds, size, back_reach}, f32), size, back_reach, dense_data<int32_t>(back_spans, "back_spans", {size, 2}, i32)};
  thin = {dense_data<float>(thin_, "thin", {kinds, joint, size}, f32), joint, size, nullptr};
  wide = mixing = {dense_data<float>(wide_, "wide", {kinds, size, joint + 1}, f32), size, joint + 1, nullptr};
  constant = {dense_data<float>(constant_, "constant", {kinds, 1, size}, f32), 1, size, constant_span};
  left.check(size), back.check(n_coef);
  bool known = int64_t(which.size()) == models;
  for (int64_t kind : which) known = known && kind >= 0 && kind < kinds;
  if (!known) throw nb::value_error("which must name the basis of each model");
  thin_spans = whole_spans(joint, size), wide_spans = whole_spans(size, joint + 1), mixing_spans = whole_spans(size, joint);
  thin.spans = thin_spans.data(), wide.spans = wide_spans.data(), mixing.spans = mixing_spans.data();
  constant_span[0] = 0, constant_span[1] = int32_t(size);
}

// The memory of an epoch is kept for the next one.
void Epoch::reserve(int64_t most_rows) {
  most = most_rows;
  static thread_local Scratch kept;
  const auto line = [](int64_t count) { return (count + 15) / 16 * 16; };
  const int64_t dim = solve.dim, sizes[] = {line(most), line(most * dim), line(most), parts * n_coef * width, size * width, size * width, (joint + 1) * width, line(cones.floats())};
  int64_t total = 0;
  for (int64_t one : sizes) total += models * one;
  float* next = static_cast<float*>(kept.get(size_t(total) * sizeof(float)));
  float** const places[] = {&values, &vectors, &slopes, &grads, &grad_theta, &mixed, &inner, &bends};
  for (int i = 0; i < 8; ++i) *places[i] = next, next += models * sizes[i];
  solve.rows = outer.rows = step_rows;
  solve.index = index.data();
  solve.value = {values, 1, 1, 1}, solve.vector = {vectors, dim, dim, 1};
  outer.vector = solve.vector, outer.grad_value = {slopes, 1, 1, 1}, outer.grad = rows_of(grads, width);
  complete(solve, guess);
}

size_t Epoch::scratch_bytes() const {
  return size_t(step_rows * width * 4 + std::max(build->scratch_bytes(solve), build->scratch_bytes(outer)));
}

// Eigenvalues and eigenvectors of some rows of a model's batch.
void Epoch::forward(const Shard& shard, int64_t batch, int64_t model, int64_t chunk, void* scratch) {
  const int64_t from = chunk * step_rows, to = std::min(shard.count(batch), from + step_rows), place = model * ((most + 15) / 16 * 16);
  Design own = shard.design;
  own.rows = shard.rows(model / pencils, batch);
  build->gather[0](own, from, to, coef + model * n_coef * width, scratch);
  Job job = solve;
  job.rows = to - from;
  job.matrix = rows_of(scratch, width);
  job.value.data = values + place + from;
  job.vector.data = vectors + model * ((most * job.dim + 15) / 16 * 16) + from * job.dim;
  build->solve(job, 0, job.rows, static_cast<char*>(scratch) + step_rows * width * 4);
}

// The derivative of the mean loss of `total` rows with respect to the eigenvalues of a member's batch.
LossSum Epoch::slope(const Shard& shard, int64_t batch, int64_t member, int64_t total) {
  const int32_t* const chosen = shard.rows(member, batch);
  const int64_t place = (most + 15) / 16 * 16, base = member * pencils * place;
  LossSum seen;
  std::vector<double> raw(static_cast<size_t>(pencils));
  for (int64_t i = 0; i < shard.count(batch); ++i) {
    const double weight = shard.importance ? shard.importance[chosen[i]] : 1.0;
    const double shift = shard.offset ? shard.offset[chosen[i]] : 0.0, target = shard.y[chosen[i]];
    for (int64_t k = 0; k < pencils; ++k) raw[size_t(k)] = start[size_t(k)] + scale * double(values[base + k * place + i]) + shift;
    double value;
    if (pencils > 1) {
      value = softmax_(raw.data(), pencils, int64_t(target));
    } else {
      const LossOfRow here = loss.at(raw[0], target);
      value = here.value, raw[0] = here.slope;
    }
    seen.sum += weight * value, seen.mass += weight;
    for (int64_t k = 0; k < pencils; ++k) slopes[base + k * place + i] = float(raw[size_t(k)] * scale * weight / double(total));
  }
  return seen;
}

// Some rows' share of the gradient of the coefficients. The parts are cut by the number of models alone.
void Epoch::backward(const Shard& shard, int64_t batch, int64_t model, int64_t part, void* scratch) {
  const int64_t part_rows = (shard.count(batch) + parts - 1) / parts, last = std::min(shard.count(batch), (part + 1) * part_rows);
  const int64_t place = (most + 15) / 16 * 16, vector_place = (most * outer.dim + 15) / 16 * 16;
  float* const sum = grads + (model * parts + part) * n_coef * width;
  std::memset(sum, 0, size_t(n_coef * width) * sizeof(float));
  std::memset(scratch, 0, size_t(step_rows * width) * sizeof(float));
  Design own = shard.design;
  own.rows = shard.rows(model / pencils, batch);
  for (int64_t from = part * part_rows; from < last; from += step_rows) {
    Job job = outer;
    job.rows = std::min(last, from + step_rows) - from;
    job.vector.data = vectors + model * vector_place + from * job.dim;
    job.grad_value.data = slopes + model * place + from;
    job.grad.data = scratch;
    build->outer(job, 0, job.rows, static_cast<char*>(scratch) + step_rows * width * 4);
    build->scatter[0](own, from, from + job.rows, scratch, sum);
  }
}

Adam Epoch::rule(int64_t batch, double keep) const {
  const double step = double(steps_before + batch + 1), rate = rates[size_t(batch)];
  return {beta1, beta2, rate / (1.0 - std::pow(beta1, step)), keep, 1.0 / (1.0 - std::pow(beta2, step)), tiny, width};
}

// Pulls the gradient back to θ, takes Adam's step and writes the coefficients: some columns of one model.
void Epoch::update(int64_t batch, int64_t model, int64_t from, int64_t to) {
  const int64_t kind = which[size_t(model)], span = to - from;
  float *const grad = grads + model * parts * n_coef * width, *const pulled = grad_theta + model * size * width;
  float *const own = theta + model * size * width, *const mix = mixed + model * size * width, *const thin_rows = inner + model * (joint + 1) * width;
  for (int64_t part = 1; part < parts; ++part)
    for (int64_t i = 0; i < n_coef; ++i)
      build->add(grad + i * width + from, grad + (part * n_coef + i) * width + from, span);
  back.multiply(build, kind, grad, mix, nullptr, width, from, to);
  thin.multiply(build, kind, mix, thin_rows, nullptr, width, from, to);
  std::memcpy(thin_rows + joint * width + from, grad + from, size_t(span) * sizeof(float));
  wide.multiply(build, kind, thin_rows, pulled, mix, width, from, to);
  Adam rule = this->rule(batch, std::max(1.0 - rates[size_t(batch)] * decays[size_t(model)], 0.0));
  const int64_t all = model * size * width, whole = span == width ? size : 1;
  for (int64_t i = 0; i < size; i += whole, rule.spared = 0)
    build->adam[0](rule, own + i * width + from, pulled + i * width + from, first + all + i * width + from, second + all + i * width + from, whole * span);
  thin.multiply(build, kind, own, thin_rows, nullptr, width, from, to);
  mixing.multiply(build, kind, thin_rows, mix, own, width, from, to);
  float* const result = coef + model * n_coef * width;
  left.multiply(build, kind, mix, result, nullptr, width, from, to);
  constant.multiply(build, kind, own, result, nullptr, width, from, to);
}

// The same of the constrained columns, whose contribution to the coefficients is added; a whole model at a time.
void Epoch::bend(int64_t batch, int64_t model) {
  const double lost = rates[size_t(batch)] * decays[size_t(model)];
  const int64_t own = n_coef * width;
  float* const scratch = bends + model * ((cones.floats() + 15) / 16 * 16);
  cones.update(build, model, rule(batch, 1.0), lost, grads + model * parts * own, coef + model * own, scratch);
}

// The step of all models on all threads, from gradients that are there.
void Epoch::update(int64_t batch, int threads) {
  if (alone(threads)) {
    in_parallel(models, threads, 0, [&](int64_t model, void*) {
      update(batch, model, 0, width);
      if (cones.size()) bend(batch, model);
    });
    return;
  }
  const int64_t columns = width / pad;
  in_parallel(models * columns, threads, 0, [&](int64_t task, void*) {
    const int64_t from = task % columns * pad;
    update(batch, task / columns, from, from + pad);
  });
  if (cones.size()) in_parallel(models, threads, 0, [&](int64_t model, void*) { bend(batch, model); });
}

// Whether there are enough members for all threads, so that each takes its members alone.
bool Epoch::alone(int threads) const {
  const int available = threads > 0 ? threads : num_threads.load();
  const int64_t rounds = (members + available - 1) / available;
  return 4 * members >= 3 * rounds * available;
}

namespace {

// Epochs of one process: all rows are here.
struct Whole : Epoch {
  Shard shard;
  std::vector<double> losses;

  Whole(const Rows& rows, const Head& head, const State& state, const BasisArrays& basis, const Pace& pace)
      : Epoch(head, state, basis, pace), shard(read_rows(rows)), losses(size_t(members)) {
    if (batches < 1 || shard.length < batches) throw nb::value_error("a batch must have a row");
    reserve(shard.count(0));
  }

  void mean_slope(int64_t batch, int64_t member) {
    const LossSum seen = slope(shard, batch, member, shard.count(batch));
    losses[size_t(member)] += seen.mass > 0 ? seen.sum / seen.mass : 0.0;
  }

  // One member's step on one thread: members do not need each other.
  void step_alone(int64_t batch, int64_t member, void* scratch) {
    const int64_t begin = member * pencils, end = begin + pencils;
    for (int64_t model = begin; model < end; ++model)
      for (int64_t chunk = 0; chunk < shard.chunks(batch); ++chunk) forward(shard, batch, model, chunk, scratch);
    mean_slope(batch, member);
    for (int64_t model = begin; model < end; ++model) {
      for (int64_t part = 0; part < parts; ++part) backward(shard, batch, model, part, scratch);
      update(batch, model, 0, width);
      if (cones.size()) bend(batch, model);
    }
  }

  // The same of all members on all threads, where there are too few members for them.
  void step_together(int64_t batch, int threads) {
    const size_t bytes = scratch_bytes();
    const int64_t pieces = shard.chunks(batch);
    in_parallel(models * pieces, threads, bytes, [&](int64_t task, void* scratch) { forward(shard, batch, task / pieces, task % pieces, scratch); });
    in_parallel(members, threads, 0, [&](int64_t member, void*) { mean_slope(batch, member); });
    in_parallel(models * parts, threads, bytes, [&](int64_t task, void* scratch) { backward(shard, batch, task / parts, task % parts, scratch); });
    update(batch, threads);
  }

  void run(int threads) {
    if (alone(threads)) {
      in_parallel(members, threads, scratch_bytes(), [&](int64_t member, void* scratch) {
        for (int64_t batch = 0; batch < batches; ++batch) step_alone(batch, member, scratch);
      });
    } else {
      for (int64_t batch = 0; batch < batches; ++batch) step_together(batch, threads);
    }
    for (double& loss_sum : losses) loss_sum /= double(batches);
  }

  using Epoch::update;
};

std::vector<double> epoch(const DesignRows& design, const Target& target, const Head& head, const State& state, const BasisArrays& basis, const Pace& pace, int threads) {
  Whole all({design, target}, head, state, basis, pace);
  all.run(threads);
  return all.losses;
}

}  // namespace

void bind_epoch(nb::module_& m) {
  m.def("epoch", &epoch, nb::arg("design"), nb::arg("target"), nb::arg("head"), nb::arg("state").noconvert(), nb::arg("basis"),
        nb::arg("pace"), nb::arg("threads"));
}

}  // namespace lambdak
