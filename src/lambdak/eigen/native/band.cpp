// The training step of lambdak.eigen._kernel on tridiagonal matrices: entries, eigenpair, slope and gradient in one call.
#include "host.hpp"

namespace lambdak {
namespace {

// grad (models, inputs, 2 d - 1) of each model's mean of (λ_k(Σ_s x_s coef[s]) - target)² over the points of its stream.
void band_gradient(In points, In target, In coef, int dim, int index, Out grad, int threads) {
  const auto dtype = coef.dtype();
  if (dim < 1 || dim > max_dim || !is_float(dtype)) throw nb::value_error("bad dim or dtype");
  const int64_t streams = extent(points, 0), batch = extent(points, 1), inputs = extent(points, 2), models = extent(coef, 0);
  const int64_t element = int64_t(coef.itemsize());
  const char* const x = dense_data<char>(points, "points", {streams, batch, inputs}, dtype);
  const char* const y = dense_data<char>(target, "target", {streams, batch}, dtype);
  const Array from = describe(coef, "coef", Axes::row_index_entry, {models, inputs, 2 * dim - 1}, dtype);
  const Array to = describe(grad, "grad", Axes::row_index_entry, {models, inputs, 2 * dim - 1}, dtype);
  const Indices chosen{index};
  check_index(chosen, dim);
  if (inputs < 1 || batch < 1 || streams < 1 || models % streams || from.entry != 1 || to.entry != 1)
    throw nb::value_error("points must be (streams, batch, inputs), and coef so many models for each stream, their rows contiguous");
  Band shape;
  Job& job = shape.job;
  job.dim = dim, job.n_index = 1, job.rows = batch, job.index = chosen.data(), job.tridiagonal = true;
  job.double_precision = dtype == nb::dtype<double>();
  job.vector.data = &job;  // wanted: the scratch size depends on it
  std::vector<Guess> guess;
  complete(job, guess);
  shape.inputs = int(inputs), shape.stride = from.index, shape.grad_stride = to.index;
  const Kernel* const build = active;
  const int64_t copies = models / streams;
  in_parallel(models, threads, size_t(build->band_bytes[job.double_precision](shape)), [&](int64_t model, void* scratch) {
    Band band = shape;
    band.points = x + model / copies * batch * inputs * element, band.target = y + model / copies * batch * element;
    band.coef = static_cast<const char*>(from.data) + model * from.row * element;
    band.grad = static_cast<char*>(to.data) + model * to.row * element;
    build->band[job.double_precision](band, scratch);
  });
}

}  // namespace

void bind_band(nb::module_& m) {
  m.def("band_gradient", &band_gradient, nb::arg("points"), nb::arg("target"), nb::arg("coef"), nb::arg("dim"), nb::arg("index"),
        nb::arg("grad").noconvert(), nb::arg("threads"));
}

}  // namespace lambdak
