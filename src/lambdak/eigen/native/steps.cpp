// The training steps of lambdak.eigen._kernel: a stack of models on sparse design rows.
#include <algorithm>
#include <array>

#include "curve.hpp"
#include "host.hpp"

namespace lambdak {
namespace {

constexpr int64_t cache_bytes = 4 << 20;

struct Step {
  Design design;
  int64_t models, batch, n_coef, model_stride;
  nb::dlpack::dtype dtype;
};

template <class C> Step make_step(const DesignRows& sparse, const C& coef, int dim) {
  const auto& [ids, weights, rows] = sparse;
  if (dim < 1 || dim > max_dim || !is_float(coef.dtype())) throw nb::value_error("bad dim or dtype");
  const int64_t width = int64_t(dim) * (dim + 1) / 2;
  if (coef.ndim() != 3 || ids.ndim() != 2 || rows.ndim() != 2) throw nb::value_error("coef, ids or rows have the wrong shape");
  Step step;
  step.dtype = coef.dtype();
  step.models = int64_t(coef.shape(0)), step.batch = int64_t(rows.shape(1)), step.n_coef = int64_t(coef.shape(1));
  const int64_t n = int64_t(ids.shape(0)), slots = int64_t(ids.shape(1));
  describe(coef, "coef", Axes::row_index_entry, {step.models, step.n_coef, width}, step.dtype);
  const Array id = describe(ids, "ids", Axes::row_entry, {n, slots}, nb::dtype<int32_t>());
  const Array weight = describe(weights, "weights", Axes::row_entry, {n, slots}, step.dtype);
  const Array row = describe(rows, "rows", Axes::row_entry, {step.models, step.batch}, nb::dtype<int32_t>());
  step.model_stride = coef.stride(0);
  const bool packed_rows = dense(ids) && dense(weights) && dense(rows) && coef.stride(2) == 1 && coef.stride(1) % pad == 0 &&
                           coef.stride(1) >= width;
  if (!packed_rows) throw nb::value_error("ids, weights, rows must be contiguous and coef padded");
  step.design.double_precision = step.dtype == nb::dtype<double>();
  step.design.slots = int(slots), step.design.width = int((width + pad - 1) / pad * pad), step.design.stride = coef.stride(1);
  step.design.far = step.n_coef * step.design.stride * int64_t(coef.itemsize()) > cache_bytes;
  step.design.ids = static_cast<const int32_t*>(id.data), step.design.weights = weight.data;
  step.design.rows = static_cast<const int32_t*>(row.data);
  for (int64_t i = 0; i < step.models * step.batch; ++i)
    if (step.design.rows[i] < 0 || step.design.rows[i] >= n) throw nb::value_error("rows holds a row that does not exist");
  return step;
}

void* at(const Array& a, int64_t element, const Step& step) {
  return static_cast<char*>(a.data) + element * (step.design.double_precision ? 8 : 4);
}

// Whether the ids of a model's rows begin .. end-1 name coefficients that exist.
bool ids_exist(const Kernel* build, const Step& step, const Design& design, int64_t begin, int64_t end) {
  uint32_t most = 0;
  for (int64_t i = begin; i < end; ++i) most = std::max(most, build->largest(design.ids + int64_t(design.rows[i]) * design.slots, design.slots));
  return int64_t(most) < step.n_coef;
}

Job step_job(const Step& step, int dim, int n_index) {
  Job job;
  job.dim = dim, job.n_index = n_index, job.rows = step_rows, job.double_precision = step.design.double_precision;
  return job;
}

// value (models, batch, m) and vector (models, batch, m, d) of A(row) for every model and row of its batch.
void forward(const DesignRows& sparse, In coef, int dim, Indices index, const Outputs& out, int threads) {
  const Step step = make_step(sparse, coef, dim);
  const auto& [value, vector] = out;
  const bool wants_vector = vector.has_value();
  const int64_t m = int64_t(index.size()), d = dim, total = step.models * step.batch;
  check_index(index, dim);
  const Array values = describe(value, "value", Axes::row_index, {total, m}, step.dtype);
  const Array vectors = wants_vector ? describe(*vector, "vector", Axes::row_index_entry, {total, m, d}, step.dtype) : Array{};
  if (total == 0) return;
  Job shape = step_job(step, dim, int(m));
  shape.index = index.data();
  shape.value = values, shape.vector = vectors;
  std::vector<Guess> guess;
  complete(shape, guess);
  const Kernel* const build = active;
  std::atomic<bool> bad_id{false};
  const int64_t chunks = (step.batch + step_rows - 1) / step_rows;
  const int64_t element = step.design.double_precision ? 8 : 4, packed_bytes = step_rows * step.design.width * element;
  in_parallel(step.models * chunks, threads, size_t(packed_bytes + build->scratch_bytes(shape)), [&](int64_t task, void* scratch) {
    const int64_t model = task / chunks, begin = task % chunks * step_rows, end = std::min(step.batch, begin + step_rows);
    Design design = step.design;
    design.rows += model * step.batch;
    if (!ids_exist(build, step, design, begin, end)) {
      bad_id = true;
      return;
    }
    build->gather[design.double_precision](design, begin, end, static_cast<const char*>(coef.data()) + model * step.model_stride * element, scratch);
    Job job = shape;
    const int64_t first = model * step.batch + begin;
    job.rows = end - begin;
    job.matrix = rows_of(scratch, step.design.width);
    job.value.data = at(values, first * values.row, step);
    if (wants_vector) job.vector.data = at(vectors, first * vectors.row, step);
    build->solve(job, 0, job.rows, static_cast<char*>(scratch) + packed_bytes);
  });
  if (bad_id) throw nb::value_error("ids holds a coefficient that does not exist");
}

// grad (models, n_coef, D) = Σ_rows Σ_m g v vᵀ spread over the row's coefficients. The partial sums are cut by the
// shape of the problem alone, so that the result does not depend on the thread count.
void backward(const DesignRows& sparse, In vector, In grad_value, int dim, Out grad, int threads) {
  const Step step = make_step(sparse, grad, dim);
  const int64_t d = dim, total = step.models * step.batch, m = vector.ndim() == 3 ? int64_t(vector.shape(1)) : 0;
  if (m == 0) throw nb::value_error("vector must be (rows, index, dim)");
  if (step.design.stride != step.design.width) throw nb::value_error("the rows of grad must be padded, and no further apart");
  const Array vectors = describe(vector, "vector", Axes::row_index_entry, {total, m, d}, step.dtype);
  const Array factors = describe(grad_value, "grad_value", Axes::row_index, {total, m}, step.dtype);
  Job shape = step_job(step, dim, int(m));
  shape.vector = vectors, shape.grad_value = factors;
  shape.grad = rows_of(nullptr, step.design.width);
  shape.grad.data = &shape;  // present: the scratch size depends on it
  const int64_t element = step.design.double_precision ? 8 : 4, packed_bytes = step_rows * step.design.width * element;
  const int64_t parts = std::max<int64_t>(1, 4 / std::max<int64_t>(1, step.models));
  const int64_t part_rows = (step.batch + parts - 1) / parts, size = step.n_coef * step.design.stride;
  const Kernel* const build = active;
  std::atomic<bool> bad_id{false};
  std::vector<char> extra(size_t((parts - 1) * step.models * size * element));
  char* const out = static_cast<char*>(const_cast<void*>(static_cast<const void*>(grad.data())));
  in_parallel(step.models * parts, threads, size_t(packed_bytes + build->scratch_bytes(shape)), [&](int64_t task, void* scratch) {
    const int64_t model = task / parts, part = task % parts;
    char* const sum = part ? extra.data() + ((part - 1) * step.models + model) * size * element : out + model * step.model_stride * element;
    std::memset(sum, 0, size_t(size * element));
    std::memset(scratch, 0, size_t(packed_bytes));
    Design design = step.design;
    design.rows += model * step.batch;
    for (int64_t begin = part * part_rows, last = std::min(step.batch, begin + part_rows); begin < last; begin += step_rows) {
      const int64_t end = std::min(last, begin + step_rows), first = model * step.batch + begin;
      if (!ids_exist(build, step, design, begin, end)) {
        bad_id = true;
        return;
      }
      Job job = shape;
      job.rows = end - begin;
      job.vector.data = at(vectors, first * vectors.row, step);
      job.grad_value.data = at(factors, first * factors.row, step);
      job.grad.data = scratch;
      build->outer(job, 0, job.rows, static_cast<char*>(scratch) + packed_bytes);
      build->scatter[design.double_precision](design, begin, end, scratch, sum);
    }
  });
  if (bad_id) throw nb::value_error("ids holds a coefficient that does not exist");
  const auto add = [&](auto zero) {
    using T = decltype(zero);
    for (int64_t part = 1; part < parts; ++part)
      for (int64_t model = 0; model < step.models; ++model) {
        T* const to = reinterpret_cast<T*>(out) + model * step.model_stride;
        const T* const from = reinterpret_cast<const T*>(extra.data()) + ((part - 1) * step.models + model) * size;
        for (int64_t i = 0; i < size; ++i) to[i] += from[i];
      }
  };
  step.design.double_precision ? add(double{}) : add(float{});
}

// out (models, rows, width) = left[which] right, right (models, inner, width), all contiguous; spans (rows, 2) say between
// which columns a row of the left factors can differ from zero; left (kinds, rows, reach) holds what is between them.
void multiply(In left, std::vector<int64_t> which, In right, In spans, Out out, int threads) {
  if (left.ndim() != 3 || right.ndim() != 3) throw nb::value_error("left and right must have three axes");
  const int64_t kinds = int64_t(left.shape(0)), rows = int64_t(left.shape(1)), reach = int64_t(left.shape(2));
  const int64_t models = int64_t(which.size());
  const int64_t inner = int64_t(right.shape(1)), width = int64_t(right.shape(2)), element = int64_t(left.itemsize());
  const Array a = describe(left, "left", Axes::row_index_entry, {kinds, rows, reach}, left.dtype());
  const Array b = describe(right, "right", Axes::row_index_entry, {models, inner, width}, left.dtype());
  const Array c = describe(out, "out", Axes::row_index_entry, {models, rows, width}, left.dtype());
  for (int64_t kind : which)
    if (kind < 0 || kind >= kinds) throw nb::value_error("which holds a left factor that does not exist");
  const bool contiguous = dense(left) && dense(right) && dense(out) && dense(spans);
  const Array span = describe(spans, "spans", Axes::row_entry, {rows, 2}, nb::dtype<int32_t>());
  const int32_t* const limits = static_cast<const int32_t*>(span.data);
  for (int64_t i = 0; contiguous && i < rows; ++i)
    if (limits[2 * i] < 0 || limits[2 * i + 1] > inner || limits[2 * i + 1] - limits[2 * i] > reach)
      throw nb::value_error("spans must lie within right, and be no longer than left");
  if (width % pad || !contiguous || !is_float(left.dtype())) throw nb::value_error("multiply needs contiguous arrays of padded width");
  const auto work = active.load()->multiply[left.dtype() == nb::dtype<double>()];
  constexpr int64_t at_once = 48;
  const int64_t chunks = (rows + at_once - 1) / at_once;
  const bool small = models * rows * reach * width < 200000;
  in_parallel(models * chunks, small ? 1 : threads, 0, [&](int64_t task, void*) {
    const int64_t model = task / chunks, begin = task % chunks * at_once;
    const auto of = [&](const Array& x, int64_t at, int64_t size) { return static_cast<char*>(x.data) + at * size * element; };
    const Product product{of(a, which[size_t(model)], rows * reach), of(b, model, inner * width), of(c, model, rows * width),
                          int(reach), int(width), limits, nullptr, 0, int(width)};
    work(product, begin, std::min(rows, begin + at_once));
  });
}

using AdamState = std::tuple<Out, In, Out, Out>;              // theta, grad, first, second
using AdamRule = std::tuple<double, double, double, double>;  // beta1, beta2, correct, tiny

// One Adam step of every model of a stack; all arrays are (models, size), contiguous, size a multiple of `pad`.
void adam(const AdamState& state, std::vector<double> rate, std::vector<double> keep, const AdamRule& rule, int64_t spared, int threads) {
  const auto& [theta, grad, first, second] = state;
  const auto [beta1, beta2, correct, tiny] = rule;
  const int64_t models = int64_t(rate.size()), size = theta.ndim() == 2 ? int64_t(theta.shape(1)) : 0;
  const int64_t element = int64_t(theta.itemsize());
  const auto dtype = theta.dtype();
  bool fits = keep.size() == rate.size() && size % pad == 0 && spared % pad == 0 && is_float(dtype);
  describe(theta, "theta", Axes::row_entry, {models, size}, dtype), describe(grad, "grad", Axes::row_entry, {models, size}, dtype);
  describe(first, "first", Axes::row_entry, {models, size}, dtype), describe(second, "second", Axes::row_entry, {models, size}, dtype);
  fits = fits && dense(theta) && dense(grad) && dense(first) && dense(second);
  if (!fits) throw nb::value_error("adam needs contiguous arrays of padded size");
  std::vector<Adam> steps;
  for (int64_t model = 0; model < models; ++model)
    steps.push_back({beta1, beta2, rate[size_t(model)], keep[size_t(model)], correct, tiny, spared});
  const auto work = active.load()->adam[dtype == nb::dtype<double>()];
  const std::array<void*, 4> parts{theta.data(), const_cast<void*>(grad.data()), first.data(), second.data()};
  in_parallel(models, models * size < 20000 ? 1 : threads, 0, [&](int64_t model, void*) {
    const auto of = [&](int part) { return static_cast<char*>(parts[part]) + model * size * element; };
    work(steps[size_t(model)], of(0), of(1), of(2), of(3), size);
  });
}

constexpr int64_t curve_rows = 4096;  // of one task: some tens of microseconds

// The two active entries (n, 2) of a curve through knots, for numbers x (n).
void curve(In x, In knots, int start, bool clamp, const std::tuple<Out, Out>& out, int threads) {
  const auto& [ids, weights] = out;
  const int64_t n = x.ndim() == 1 ? int64_t(x.shape(0)) : -1, count = knots.ndim() == 1 ? int64_t(knots.shape(0)) : 0;
  if (n == 0) return;
  const auto pair = [&](const Out& a) { return a.ndim() == 2 && int64_t(a.shape(0)) == n && a.shape(1) == 2 && a.stride(1) == 1; };
  const bool fits = count > 1 && x.dtype() == nb::dtype<double>() && knots.dtype() == nb::dtype<double>() && dense(x) && dense(knots) &&
                    pair(ids) && pair(weights) && ids.dtype() == nb::dtype<int32_t>() && is_float(weights.dtype());
  if (!fits) throw nb::value_error("curve needs numbers and knots in double precision, and room for two entries per row");
  const Curve shape{static_cast<const double*>(knots.data()), count, start, clamp};
  const double* const numbers = static_cast<const double*>(x.data());
  const Entries<int32_t> id{static_cast<int32_t*>(ids.data()), ids.stride(0)};
  const auto fill = [&](auto weight) {
    in_parallel((n + curve_rows - 1) / curve_rows, threads, 0, [&](int64_t task, void*) {
      fill_curve(shape, numbers, task * curve_rows, std::min(n, (task + 1) * curve_rows), id, weight);
    });
  };
  const int64_t stride = weights.stride(0);
  weights.dtype() == nb::dtype<double>() ? fill(Entries<double>{static_cast<double*>(weights.data()), stride})
                                         : fill(Entries<float>{static_cast<float*>(weights.data()), stride});
}

}  // namespace

void bind_steps(nb::module_& m) {
  m.def("forward", &forward, nb::arg("design"), nb::arg("coef"), nb::arg("dim"), nb::arg("index"), nb::arg("out").noconvert(),
        nb::arg("threads"));
  m.def("backward", &backward, nb::arg("design"), nb::arg("vector"), nb::arg("grad_value"), nb::arg("dim"),
        nb::arg("grad").noconvert(), nb::arg("threads"));
  m.def("curve", &curve, nb::arg("x"), nb::arg("knots"), nb::arg("start"), nb::arg("clamp"), nb::arg("out").noconvert(),
        nb::arg("threads"));
  m.def("multiply", &multiply, nb::arg("left"), nb::arg("which"), nb::arg("right"), nb::arg("spans"), nb::arg("out").noconvert(),
        nb::arg("threads"));
  m.def("adam", &adam, nb::arg("state").noconvert(), nb::arg("rate"), nb::arg("keep"), nb::arg("rule"), nb::arg("spared"),
        nb::arg("threads"));
}

}  // namespace lambdak
