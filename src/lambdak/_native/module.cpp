// lambdak._kernel: checks shapes, chooses the build for this CPU, and hands row blocks to the thread pool.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernel.hpp"
#include "pool.hpp"

namespace nb = nanobind;
using In = nb::ndarray<nb::ro, nb::device::cpu>;
using Out = nb::ndarray<nb::device::cpu>;
using Indices = std::vector<int32_t>;

namespace lambdak {
namespace {

const Kernel* active = &kernel_baseline;
std::atomic<int> num_threads{1};

std::vector<const Kernel*> available() {
  std::vector<const Kernel*> kernels{&kernel_baseline};
#if defined(LAMBDAK_HAVE_AVX2)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) kernels.push_back(&kernel_avx2);
#endif
#if defined(LAMBDAK_HAVE_AVX512)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    kernels.push_back(&kernel_avx512);
#endif
  return kernels;
}

void use_isa(const std::string& name) {
  for (const Kernel* kernel : available())
    if (kernel->name == name) {
      active = kernel;
      return;
    }
  throw nb::value_error(("isa not available on this machine: " + name).c_str());
}

// ---- a job's arrays --------------------------------------------------------------------------------------------

template <class A> Array describe(const A& a, const char* name, std::initializer_list<int64_t> shape, nb::dlpack::dtype dtype) {
  bool fits = a.ndim() == shape.size() && a.dtype() == dtype;
  size_t axis = 0;
  for (int64_t extent : shape) fits = fits && int64_t(a.shape(axis++)) == extent;
  if (!fits) throw nb::value_error((std::string(name) + " has the wrong shape or dtype").c_str());
  Array out;
  out.data = const_cast<void*>(static_cast<const void*>(a.data()));
  out.row = a.stride(0);
  out.index = a.ndim() == 3 || (a.ndim() == 2 && std::string(name).ends_with("value")) ? a.stride(1) : 0;
  out.entry = a.stride(a.ndim() - 1);
  return out;
}

// A function of (dim, index) that is computed once; calls on one matrix should not pay for it again.
template <class Value> class Memo {
 public:
  template <class Make> const Value& get(int dim, int index, Make make) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto key = std::make_pair(dim, index);
    const auto found = values_.find(key);
    return found != values_.end() ? found->second : values_.emplace(key, make()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int>, Value> values_;  // its elements stay where they are
};

template <class T> const T* entry_scales(int dim) {
  static Memo<std::vector<T>> memo;
  return memo
      .get(dim, 0, [dim] {
        std::vector<T> scale(size_t(dim) * (dim + 1) / 2, T(std::sqrt(0.5)));
        for (int i = 0; i < dim; ++i) scale[size_t(i) * (i + 3) / 2] = T(1);
        return scale;
      })
      .data();
}

// Quantile (k + 1/2)/n of the semicircle law, in standard deviations (its radius is 2), and 1/(n density) there.
Guess semicircle_guess(int k, int n) {
  const double pi = 3.14159265358979323846, wanted = (k + 0.5) / n;
  double low = -1, high = 1;
  for (int i = 0; i < 30; ++i) {
    const double s = 0.5 * (low + high);
    (0.5 + (s * std::sqrt(1 - s * s) + std::asin(s)) / pi < wanted ? low : high) = s;
  }
  const double s = 0.5 * (low + high), edge = 0.3 / std::cbrt(n);
  const double density = std::max((2 / pi) * std::sqrt(1 - s * s), edge);
  return {2 * s, 2 / (n * density)};
}

// Rough nanoseconds for one row: it only sizes the chunks.
double row_cost(const Job& job) {
  const double d = job.dim, unit = job.double_precision ? 2 : 1;
  const double reduce = job.tridiagonal ? 2 * d : 0.05 * d * d * d + 0.5 * d * d;
  return unit * (10 + reduce + job.n_index * (2 * d + (job.vector.data ? 0.2 * d * d : 0)));
}

// The default floating-point environment, whatever flush-to-zero mode the calling thread has set.
class PlainArithmetic {
#if defined(__SSE2__)
 public:
  PlainArithmetic() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~PlainArithmetic() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#endif
};

struct Scratch {
  void* data = nullptr;
  size_t size = 0;
  ~Scratch() { release(); }
  void release() { ::operator delete(data, std::align_val_t(64)); }
  void* get(size_t bytes) {
    if (bytes > size) {
      release();
      data = nullptr, size = 0;
      data = ::operator new(bytes, std::align_val_t(64));
      size = bytes;
    }
    return data;
  }
};

using Work = void (*)(const Job&, int64_t, int64_t, void*);

void run(Job& job, Work work) {
  if (job.rows == 0) return;
  static Memo<Guess> guesses;
  std::vector<Guess> guess;
  for (int m = 0; job.index && m < job.n_index; ++m)
    guess.push_back(guesses.get(job.dim, job.index[m], [&] { return semicircle_guess(job.index[m], job.dim); }));
  job.guess = guess.data();
  if (!job.tridiagonal && job.double_precision) job.entry_scale = entry_scales<double>(job.dim);
  if (!job.tridiagonal && !job.double_precision) job.entry_scale = entry_scales<float>(job.dim);

  const int64_t block = active->block_rows(job), blocks = (job.rows + block - 1) / block;
  const double block_ns = row_cost(job) * double(block);
  const int64_t per_chunk = std::max<int64_t>(1, int64_t(20000 / block_ns));
  const bool small = block_ns * double(blocks) < 40000;
  const int64_t chunks = small ? 1 : (blocks + per_chunk - 1) / per_chunk;
  const size_t bytes = size_t(active->scratch_bytes(job));
  std::atomic<bool> out_of_memory{false};
  nb::gil_scoped_release unlocked;
  parallel_for(chunks, small ? 1 : num_threads.load(), [&](int64_t chunk) {
    static thread_local Scratch scratch;
    const int64_t begin = small ? 0 : chunk * per_chunk * block;
    const int64_t end = small ? job.rows : std::min(job.rows, begin + per_chunk * block);
    const PlainArithmetic plain;
    try {
      work(job, begin, end, scratch.get(bytes));
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  });
  if (out_of_memory) throw std::bad_alloc();
}

// ---- what Python calls -----------------------------------------------------------------------------------------

Job make_job(const In& matrix, const std::optional<In>& off, int dim, int n_index) {
  Job job;
  job.dim = dim;
  job.n_index = n_index;
  job.rows = matrix.ndim() ? int64_t(matrix.shape(0)) : 0;
  job.tridiagonal = off.has_value();
  job.double_precision = matrix.dtype() == nb::dtype<double>();
  if (dim < 1 || (!job.double_precision && matrix.dtype() != nb::dtype<float>())) throw nb::value_error("bad dim or dtype");
  return job;
}

void set_matrix(Job& job, const In& matrix, const std::optional<In>& off) {
  const int64_t d = job.dim;
  job.matrix = describe(matrix, "matrix", {job.rows, job.tridiagonal ? d : d * (d + 1) / 2}, matrix.dtype());
  if (off) job.off = describe(*off, "off", {job.rows, d - 1}, matrix.dtype());
}

void set_grad(Job& job, const Out& grad, const std::optional<Out>& grad_off, nb::dlpack::dtype dtype) {
  const int64_t d = job.dim;
  job.grad = describe(grad, "grad", {job.rows, job.tridiagonal ? d : d * (d + 1) / 2}, dtype);
  if (grad_off) job.grad_off = describe(*grad_off, "grad_off", {job.rows, d - 1}, dtype);
}

void solve(In matrix, std::optional<In> off, int dim, Indices index, Out value, std::optional<Out> vector) {
  const int n_index = int(index.size());
  Job job = make_job(matrix, off, dim, n_index);
  for (int32_t k : index)
    if (k < 0 || k >= dim) throw nb::value_error("index out of range");
  set_matrix(job, matrix, off);
  job.index = index.data();
  job.value = describe(value, "value", {job.rows, n_index}, matrix.dtype());
  if (vector) job.vector = describe(*vector, "vector", {job.rows, n_index, dim}, matrix.dtype());
  run(job, active->solve);
}

void outer(In vector, In grad_value, Out grad, std::optional<Out> grad_off) {
  if (vector.ndim() != 3) throw nb::value_error("vector must be (rows, index, dim)");
  std::optional<In> off;
  Job job = make_job(vector, off, int(vector.shape(2)), int(vector.shape(1)));
  job.tridiagonal = grad_off.has_value();
  job.vector = describe(vector, "vector", {job.rows, job.n_index, job.dim}, vector.dtype());
  job.grad_value = describe(grad_value, "grad_value", {job.rows, job.n_index}, vector.dtype());
  set_grad(job, grad, grad_off, vector.dtype());
  run(job, active->outer);
}

void vjp(In matrix, std::optional<In> off, int dim, In value, In vector, In grad_value, In grad_vector, Out grad,
         std::optional<Out> grad_off) {
  if (vector.ndim() != 3) throw nb::value_error("vector must be (rows, index, dim)");
  Job job = make_job(matrix, off, dim, int(vector.shape(1)));
  set_matrix(job, matrix, off);
  const auto dtype = matrix.dtype();
  job.value = describe(value, "value", {job.rows, job.n_index}, dtype);
  job.vector = describe(vector, "vector", {job.rows, job.n_index, dim}, dtype);
  job.grad_value = describe(grad_value, "grad_value", {job.rows, job.n_index}, dtype);
  job.grad_vector = describe(grad_vector, "grad_vector", {job.rows, job.n_index, dim}, dtype);
  set_grad(job, grad, grad_off, dtype);
  run(job, active->vjp);
}

}  // namespace
}  // namespace lambdak

NB_MODULE(_kernel, m) {
  using namespace lambdak;
  num_threads = hardware_threads();
  active = available().back();
  m.def("solve", &solve, nb::arg("matrix"), nb::arg("off").none(), nb::arg("dim"), nb::arg("index"), nb::arg("value").noconvert(),
        nb::arg("vector").noconvert().none());
  m.def("outer", &outer, nb::arg("vector"), nb::arg("grad_value"), nb::arg("grad").noconvert(), nb::arg("grad_off").noconvert().none());
  m.def("vjp", &vjp, nb::arg("matrix"), nb::arg("off").none(), nb::arg("dim"), nb::arg("value"), nb::arg("vector"),
        nb::arg("grad_value"), nb::arg("grad_vector"), nb::arg("grad").noconvert(), nb::arg("grad_off").noconvert().none());
  m.def("isa", [] { return std::string(active->name); });
  m.def("use_isa", &use_isa, nb::arg("name"));
  m.def("available_isas", [] {
    std::vector<std::string> names;
    for (const Kernel* kernel : available()) names.emplace_back(kernel->name);
    return names;
  });
  m.def("num_threads", [] { return num_threads.load(); });
  m.def("set_num_threads", [](int threads) { num_threads = std::max(1, threads); }, nb::arg("threads"));
  m.def("hardware_threads", &hardware_threads);
}
