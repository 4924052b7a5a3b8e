// lambdak._kernel: checks shapes, chooses the build for this CPU, and hands row blocks to the thread pool.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
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
#if defined(_WIN32)
#include <intrin.h>
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

#if defined(LAMBDAK_HAVE_AVX2)
#if defined(_WIN32)
// clang-cl does not link the library behind __builtin_cpu_supports.
bool cpu_has(int ecx1, int ebx7, unsigned state) {
  int leaf1[4], leaf7[4];
  __cpuidex(leaf1, 1, 0), __cpuidex(leaf7, 7, 0);
  const bool saves = leaf1[2] & (1 << 27);
  return saves && (leaf1[2] & ecx1) == ecx1 && (leaf7[1] & ebx7) == ebx7 && (_xgetbv(0) & state) == state;
}
bool cpu_has_avx2() { return cpu_has(1 << 12, 1 << 5, 0x6); }
bool cpu_has_avx512() { return cpu_has(1 << 12, int(1u << 16 | 1u << 17 | 1u << 30 | 1u << 31), 0xe6); }
#else
bool cpu_has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool cpu_has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw");
}
#endif
#endif

std::vector<const Kernel*> available() {
  std::vector<const Kernel*> kernels{&kernel_baseline};
#if defined(LAMBDAK_HAVE_AVX2)
  if (cpu_has_avx2()) kernels.push_back(&kernel_avx2);
  if (cpu_has_avx512()) kernels.push_back(&kernel_avx512);
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

// body(chunk, scratch) for every chunk, without the GIL, each thread with its own scratch of `bytes`.
template <class Body> void in_parallel(int64_t chunks, int threads, size_t bytes, Body body) {
  std::atomic<bool> out_of_memory{false};
  nb::gil_scoped_release unlocked;
  parallel_for(chunks, threads, [&](int64_t chunk) {
    static thread_local Scratch scratch;
    const PlainArithmetic plain;
    try {
      body(chunk, scratch.get(bytes));
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  });
  if (out_of_memory) throw std::bad_alloc();
}

using Work = void (*)(const Job&, int64_t, int64_t, void*);

// Points the job to its look-up tables, which `guess` helps to keep.
void complete(Job& job, std::vector<Guess>& guess) {
  static Memo<Guess> guesses;
  for (int m = 0; job.index && m < job.n_index; ++m)
    guess.push_back(guesses.get(job.dim, job.index[m], [&] { return semicircle_guess(job.index[m], job.dim); }));
  job.guess = guess.data();
  if (!job.tridiagonal && job.double_precision) job.entry_scale = entry_scales<double>(job.dim);
  if (!job.tridiagonal && !job.double_precision) job.entry_scale = entry_scales<float>(job.dim);
}

void run(Job& job, Work work) {
  if (job.rows == 0) return;
  std::vector<Guess> guess;
  complete(job, guess);

  const int64_t block = active->block_rows(job), blocks = (job.rows + block - 1) / block;
  const double block_ns = row_cost(job) * double(block);
  const int64_t per_chunk = std::max<int64_t>(1, int64_t(20000 / block_ns));
  const bool small = block_ns * double(blocks) < 40000;
  const int64_t chunks = small ? 1 : (blocks + per_chunk - 1) / per_chunk;
  const size_t bytes = size_t(active->scratch_bytes(job));
  in_parallel(chunks, small ? 1 : num_threads.load(), bytes, [&](int64_t chunk, void* scratch) {
    const int64_t begin = small ? 0 : chunk * per_chunk * block;
    const int64_t end = small ? job.rows : std::min(job.rows, begin + per_chunk * block);
    work(job, begin, end, scratch);
  });
}

// ---- what Python calls -----------------------------------------------------------------------------------------

constexpr int max_dim = 512;

bool is_float(nb::dlpack::dtype dtype) { return dtype == nb::dtype<float>() || dtype == nb::dtype<double>(); }

Job make_job(const In& matrix, const std::optional<In>& off, int dim, int n_index) {
  Job job;
  job.dim = dim;
  job.n_index = n_index;
  job.rows = matrix.ndim() ? int64_t(matrix.shape(0)) : 0;
  job.tridiagonal = off.has_value();
  job.double_precision = matrix.dtype() == nb::dtype<double>();
  if (dim < 1 || dim > max_dim || n_index < 1 || !is_float(matrix.dtype())) throw nb::value_error("bad dim, index or dtype");
  return job;
}

void check_index(const Indices& index, int dim) {
  bool fits = !index.empty() && index.front() >= 0 && index.back() < dim;
  for (size_t m = 1; m < index.size(); ++m) fits = fits && index[m - 1] < index[m];
  if (!fits) throw nb::value_error("index must be increasing and within the matrix");
}

void set_matrix(Job& job, const In& matrix, const std::optional<In>& off) {
  const int64_t d = job.dim;
  job.matrix = describe(matrix, "matrix", {job.rows, job.tridiagonal ? d : d * (d + 1) / 2}, matrix.dtype());
  if (off) job.off = describe(*off, "off", {job.rows, d - 1}, matrix.dtype());
}

void set_grad(Job& job, const Out& grad, const std::optional<Out>& grad_off, nb::dlpack::dtype dtype) {
  if (grad_off.has_value() != job.tridiagonal) throw nb::value_error("grad_off goes with tridiagonal matrices");
  const int64_t d = job.dim;
  job.grad = describe(grad, "grad", {job.rows, job.tridiagonal ? d : d * (d + 1) / 2}, dtype);
  if (grad_off) job.grad_off = describe(*grad_off, "grad_off", {job.rows, d - 1}, dtype);
}

void solve(In matrix, std::optional<In> off, int dim, Indices index, Out value, std::optional<Out> vector) {
  const int n_index = int(index.size());
  Job job = make_job(matrix, off, dim, n_index);
  check_index(index, dim);
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

// ---- training steps: a stack of models on sparse design rows -----------------------------------------------------

struct Step {
  Design design;
  int64_t models, batch, n_coef, model_stride;
  nb::dlpack::dtype dtype;
};

// In C order without gaps; an axis of one entry may have any stride.
template <class A> bool dense(const A& a) {
  if (a.size() == 0) return true;
  int64_t expected = 1;
  for (size_t axis = a.ndim(); axis-- > 0; expected *= int64_t(a.shape(axis)))
    if (a.shape(axis) != 1 && a.stride(axis) != expected) return false;
  return true;
}

template <class C> Step make_step(const In& ids, const In& weights, const In& rows, const C& coef, int dim) {
  if (dim < 1 || dim > max_dim || !is_float(coef.dtype())) throw nb::value_error("bad dim or dtype");
  const int64_t width = int64_t(dim) * (dim + 1) / 2;
  if (coef.ndim() != 3 || ids.ndim() != 2 || rows.ndim() != 2) throw nb::value_error("coef, ids or rows have the wrong shape");
  Step step;
  step.dtype = coef.dtype();
  step.models = int64_t(coef.shape(0)), step.batch = int64_t(rows.shape(1)), step.n_coef = int64_t(coef.shape(1));
  const int64_t n = int64_t(ids.shape(0)), slots = int64_t(ids.shape(1));
  describe(coef, "coef", {step.models, step.n_coef, width}, step.dtype);
  const Array id = describe(ids, "ids", {n, slots}, nb::dtype<int32_t>());
  const Array weight = describe(weights, "weights", {n, slots}, step.dtype);
  const Array row = describe(rows, "rows", {step.models, step.batch}, nb::dtype<int32_t>());
  step.model_stride = coef.stride(0);
  const bool packed_rows = dense(ids) && dense(weights) && dense(rows) && coef.stride(2) == 1 && coef.stride(1) % pad == 0 &&
                           coef.stride(1) >= width;
  if (!packed_rows) throw nb::value_error("ids, weights, rows must be contiguous and coef padded");
  step.design.double_precision = step.dtype == nb::dtype<double>();
  step.design.slots = int(slots), step.design.stride = int(coef.stride(1));
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
bool ids_exist(const Step& step, const Design& design, int64_t begin, int64_t end) {
  uint32_t largest = 0;  // a negative id is a huge one
  for (int64_t i = begin; i < end; ++i)
    for (int s = 0; s < design.slots; ++s)
      largest = std::max(largest, uint32_t(design.ids[int64_t(design.rows[i]) * design.slots + s]));
  return int64_t(largest) < step.n_coef;
}

constexpr int64_t rows_at_once = 64;

Job step_job(const Step& step, int dim, int n_index) {
  Job job;
  job.dim = dim, job.n_index = n_index, job.rows = rows_at_once, job.double_precision = step.design.double_precision;
  return job;
}

Array rows_of(void* data, int64_t row, int64_t index = 0) { return {data, row, index, 1}; }

// value (models, batch, m) and vector (models, batch, m, d) of A(row) for every model and row of its batch.
void forward(In ids, In weights, In rows, In coef, int dim, Indices index, Out value, std::optional<Out> vector) {
  const Step step = make_step(ids, weights, rows, coef, dim);
  const int64_t m = int64_t(index.size()), d = dim, total = step.models * step.batch;
  check_index(index, dim);
  const Array values = describe(value, "value", {total, m}, step.dtype);
  const Array vectors = vector ? describe(*vector, "vector", {total, m, d}, step.dtype) : Array{};
  if (total == 0) return;
  Job shape = step_job(step, dim, int(m));
  shape.index = index.data();
  shape.value = values, shape.vector = vectors;
  std::vector<Guess> guess;
  complete(shape, guess);
  std::atomic<bool> strange{false};
  const int64_t chunks = (step.batch + rows_at_once - 1) / rows_at_once;
  const int64_t element = step.design.double_precision ? 8 : 4, packed_bytes = rows_at_once * step.design.stride * element;
  in_parallel(step.models * chunks, num_threads.load(), size_t(packed_bytes + active->scratch_bytes(shape)), [&](int64_t task, void* scratch) {
    const int64_t model = task / chunks, begin = task % chunks * rows_at_once, end = std::min(step.batch, begin + rows_at_once);
    Design design = step.design;
    design.rows += model * step.batch;
    if (!ids_exist(step, design, begin, end)) {
      strange = true;
      return;
    }
    active->gather[design.double_precision](design, begin, end, static_cast<const char*>(coef.data()) + model * step.model_stride * element, scratch);
    Job job = shape;
    const int64_t first = model * step.batch + begin;
    job.rows = end - begin;
    job.matrix = rows_of(scratch, step.design.stride);
    job.value.data = at(values, first * values.row, step);
    if (vector) job.vector.data = at(vectors, first * vectors.row, step);
    active->solve(job, 0, job.rows, static_cast<char*>(scratch) + packed_bytes);
  });
  if (strange) throw nb::value_error("ids holds a coefficient that does not exist");
}

// grad (models, n_coef, D) = Σ_rows Σ_m g v vᵀ spread over the row's coefficients. The partial sums are cut by the
// shape of the problem alone, so that the result does not depend on the thread count.
void backward(In ids, In weights, In rows, In vector, In grad_value, int dim, Out grad) {
  const Step step = make_step(ids, weights, rows, grad, dim);
  const int64_t d = dim, total = step.models * step.batch, m = vector.ndim() == 3 ? int64_t(vector.shape(1)) : 0;
  if (m == 0) throw nb::value_error("vector must be (rows, index, dim)");
  const Array vectors = describe(vector, "vector", {total, m, d}, step.dtype);
  const Array factors = describe(grad_value, "grad_value", {total, m}, step.dtype);
  Job shape = step_job(step, dim, int(m));
  shape.vector = vectors, shape.grad_value = factors;
  shape.grad = rows_of(nullptr, step.design.stride);
  shape.grad.data = &shape;  // present: the scratch size depends on it
  const int64_t element = step.design.double_precision ? 8 : 4, packed_bytes = rows_at_once * step.design.stride * element;
  const int64_t parts = std::max<int64_t>(1, 4 / std::max<int64_t>(1, step.models));
  const int64_t part_rows = (step.batch + parts - 1) / parts, size = step.n_coef * step.design.stride;
  std::atomic<bool> strange{false};
  std::vector<char> extra(size_t((parts - 1) * step.models * size * element));
  char* const out = static_cast<char*>(const_cast<void*>(static_cast<const void*>(grad.data())));
  in_parallel(step.models * parts, num_threads.load(), size_t(packed_bytes + active->scratch_bytes(shape)), [&](int64_t task, void* scratch) {
    const int64_t model = task / parts, part = task % parts;
    char* const sum = part ? extra.data() + ((part - 1) * step.models + model) * size * element : out + model * step.model_stride * element;
    std::memset(sum, 0, size_t(size * element));
    std::memset(scratch, 0, size_t(packed_bytes));
    Design design = step.design;
    design.rows += model * step.batch;
    for (int64_t begin = part * part_rows, last = std::min(step.batch, begin + part_rows); begin < last; begin += rows_at_once) {
      const int64_t end = std::min(last, begin + rows_at_once), first = model * step.batch + begin;
      if (!ids_exist(step, design, begin, end)) {
        strange = true;
        return;
      }
      Job job = shape;
      job.rows = end - begin;
      job.vector.data = at(vectors, first * vectors.row, step);
      job.grad_value.data = at(factors, first * factors.row, step);
      job.grad.data = scratch;
      active->outer(job, 0, job.rows, static_cast<char*>(scratch) + packed_bytes);
      active->scatter[design.double_precision](design, begin, end, scratch, sum);
    }
  });
  if (strange) throw nb::value_error("ids holds a coefficient that does not exist");
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

// out (models, rows, width) = left (models, rows, inner) right (models, inner, width), all contiguous; spans (rows, 2)
// say between which columns a row of `left` can differ from zero.
void multiply(In left, In right, In spans, Out out) {
  if (left.ndim() != 3 || right.ndim() != 3) throw nb::value_error("left and right must have three axes");
  const int64_t models = int64_t(left.shape(0)), rows = int64_t(left.shape(1)), inner = int64_t(left.shape(2));
  const int64_t width = int64_t(right.shape(2)), element = int64_t(left.itemsize());
  const Array a = describe(left, "left", {models, rows, inner}, left.dtype());
  const Array b = describe(right, "right", {models, inner, width}, left.dtype());
  const Array c = describe(out, "out", {models, rows, width}, left.dtype());
  const bool contiguous = dense(left) && dense(right) && dense(out) && dense(spans);
  const Array span = describe(spans, "spans", {rows, 2}, nb::dtype<int32_t>());
  const int32_t* const limits = static_cast<const int32_t*>(span.data);
  for (int64_t i = 0; contiguous && i < rows; ++i)
    if (limits[2 * i] < 0 || limits[2 * i + 1] > inner) throw nb::value_error("spans must lie within left");
  if (width % pad || !contiguous || !is_float(left.dtype())) throw nb::value_error("multiply needs contiguous arrays of padded width");
  const auto work = active->multiply[left.dtype() == nb::dtype<double>()];
  constexpr int64_t at_once = 48;
  const int64_t chunks = (rows + at_once - 1) / at_once;
  const bool small = models * rows * inner * width < 200000;
  in_parallel(models * chunks, small ? 1 : num_threads.load(), 0, [&](int64_t task, void*) {
    const int64_t model = task / chunks, begin = task % chunks * at_once;
    const auto of = [&](const Array& x, int64_t size) { return static_cast<char*>(x.data) + model * size * element; };
    work(of(a, rows * inner), of(b, inner * width), of(c, rows * width), int(inner), int(width), limits, begin,
         std::min(rows, begin + at_once));
  });
}

// One Adam step of every model of a stack; all arrays are (models, size), contiguous, size a multiple of `pad`.
void adam(Out theta, In grad, Out first, Out second, std::vector<double> rate, std::vector<double> keep, double beta1, double beta2,
          double correct, double tiny) {
  const int64_t models = int64_t(rate.size()), size = theta.ndim() == 2 ? int64_t(theta.shape(1)) : 0;
  const int64_t element = int64_t(theta.itemsize());
  const auto dtype = theta.dtype();
  bool fits = keep.size() == rate.size() && size % pad == 0 && is_float(dtype);
  describe(theta, "theta", {models, size}, dtype), describe(grad, "grad", {models, size}, dtype);
  describe(first, "first", {models, size}, dtype), describe(second, "second", {models, size}, dtype);
  fits = fits && dense(theta) && dense(grad) && dense(first) && dense(second);
  if (!fits) throw nb::value_error("adam needs contiguous arrays of padded size");
  const auto work = active->adam[dtype == nb::dtype<double>()];
  in_parallel(models, models * size < 20000 ? 1 : num_threads.load(), 0, [&](int64_t model, void*) {
    const auto of = [&](const void* data) { return const_cast<char*>(static_cast<const char*>(data)) + model * size * element; };
    const Adam step{beta1, beta2, rate[size_t(model)], keep[size_t(model)], correct, tiny};
    work(step, of(theta.data()), of(grad.data()), of(first.data()), of(second.data()), size);
  });
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
  m.def("forward", &forward, nb::arg("ids"), nb::arg("weights"), nb::arg("rows"), nb::arg("coef"), nb::arg("dim"), nb::arg("index"),
        nb::arg("value").noconvert(), nb::arg("vector").noconvert().none());
  m.def("backward", &backward, nb::arg("ids"), nb::arg("weights"), nb::arg("rows"), nb::arg("vector"), nb::arg("grad_value"),
        nb::arg("dim"), nb::arg("grad").noconvert());
  m.def("multiply", &multiply, nb::arg("left"), nb::arg("right"), nb::arg("spans"), nb::arg("out").noconvert());
  m.def("adam", &adam, nb::arg("theta").noconvert(), nb::arg("grad"), nb::arg("first").noconvert(), nb::arg("second").noconvert(),
        nb::arg("rate"), nb::arg("keep"), nb::arg("beta1"), nb::arg("beta2"), nb::arg("correct"), nb::arg("tiny"));
  m.def("isa", [] { return std::string(active->name); });
  m.def("use_isa", &use_isa, nb::arg("name"));
  m.def("available_isas", [] {
    std::vector<std::string> names;
    for (const Kernel* kernel : available()) names.emplace_back(kernel->name);
    return names;
  });
  m.def("num_threads", [] { return num_threads.load(); });
  m.def("set_num_threads", [](int threads) { num_threads = std::max(1, threads); }, nb::arg("threads"));
}
