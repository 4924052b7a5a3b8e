// The eigen functions of lambdak.eigen._kernel: chooses the build for this CPU and hands row blocks to the thread pool.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>
#if defined(_WIN32)
#include <intrin.h>
#endif

#include "host.hpp"

namespace lambdak {

std::atomic<const Kernel*> active{&kernel_baseline};
std::atomic<int> num_threads{1};

namespace {

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

// ---- look-up tables and row blocks -------------------------------------------------------------------------------

// A function of (dim, index) that is computed once; calls on one matrix should not pay for it again. Never deleted: a daemon
// thread may still compute while the process ends.
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
  static Memo<std::vector<T>>& memo = *new Memo<std::vector<T>>;
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

}  // namespace

void complete(Job& job, std::vector<Guess>& guess) {
  static Memo<Guess>& guesses = *new Memo<Guess>;
  for (int m = 0; job.index && m < job.n_index; ++m)
    guess.push_back(guesses.get(job.dim, job.index[m], [&] { return semicircle_guess(job.index[m], job.dim); }));
  job.guess = guess.data();
  if (!job.tridiagonal && job.double_precision) job.entry_scale = entry_scales<double>(job.dim);
  if (!job.tridiagonal && !job.double_precision) job.entry_scale = entry_scales<float>(job.dim);
}

void check_index(const Indices& index, int dim) {
  bool fits = !index.empty() && index.front() >= 0 && index.back() < dim;
  for (size_t m = 1; m < index.size(); ++m) fits = fits && index[m - 1] < index[m];
  if (!fits) throw nb::value_error("index must be increasing and within the matrix");
}

namespace {

using Work = void (*Kernel::*)(const Job&, int64_t, int64_t, void*);

void run(Job& job, Work work, int threads) {
  if (job.rows == 0) return;
  std::vector<Guess> guess;
  complete(job, guess);

  const Kernel* const build = active;
  const int64_t block = build->block_rows(job), blocks = (job.rows + block - 1) / block;
  const double block_ns = row_cost(job) * double(block);
  const int64_t per_chunk = std::max<int64_t>(1, int64_t(20000 / block_ns));
  const bool small = block_ns * double(blocks) < 40000;
  const int64_t chunks = small ? 1 : (blocks + per_chunk - 1) / per_chunk;
  const size_t bytes = size_t(build->scratch_bytes(job));
  in_parallel(chunks, small ? 1 : threads, bytes, [&](int64_t chunk, void* scratch) {
    const int64_t begin = small ? 0 : chunk * per_chunk * block;
    const int64_t end = small ? job.rows : std::min(job.rows, begin + per_chunk * block);
    (build->*work)(job, begin, end, scratch);
  });
}

// ---- what Python calls -----------------------------------------------------------------------------------------

Job make_job(const In& matrix, bool tridiagonal, int dim, int n_index) {
  Job job;
  job.dim = dim;
  job.n_index = n_index;
  job.rows = matrix.ndim() ? int64_t(matrix.shape(0)) : 0;
  job.tridiagonal = tridiagonal;
  job.double_precision = matrix.dtype() == nb::dtype<double>();
  if (dim < 1 || dim > max_dim || n_index < 1 || !is_float(matrix.dtype())) throw nb::value_error("bad dim, index or dtype");
  return job;
}

Job matrix_job(const Matrices& matrices, int n_index) {
  const auto& [matrix, off, dim] = matrices;
  Job job = make_job(matrix, off.has_value(), dim, n_index);
  const int64_t d = dim;
  job.matrix = describe(matrix, "matrix", Axes::row_entry, {job.rows, job.tridiagonal ? d : d * (d + 1) / 2}, matrix.dtype());
  if (off) job.off = describe(*off, "off", Axes::row_entry, {job.rows, d - 1}, matrix.dtype());
  return job;
}

void set_grad(Job& job, const Outputs& out, nb::dlpack::dtype dtype) {
  const auto& [grad, grad_off] = out;
  if (grad_off.has_value() != job.tridiagonal) throw nb::value_error("grad_off goes with tridiagonal matrices");
  const int64_t d = job.dim;
  job.grad = describe(grad, "grad", Axes::row_entry, {job.rows, job.tridiagonal ? d : d * (d + 1) / 2}, dtype);
  if (grad_off) job.grad_off = describe(*grad_off, "grad_off", Axes::row_entry, {job.rows, d - 1}, dtype);
}

void solve(const Matrices& matrices, Indices index, const Outputs& out, int threads) {
  const int n_index = int(index.size());
  Job job = matrix_job(matrices, n_index);
  check_index(index, job.dim);
  const auto dtype = std::get<0>(matrices).dtype();
  const auto& [value, vector] = out;
  job.index = index.data();
  job.value = describe(value, "value", Axes::row_index, {job.rows, n_index}, dtype);
  if (vector) job.vector = describe(*vector, "vector", Axes::row_index_entry, {job.rows, n_index, job.dim}, dtype);
  run(job, &Kernel::solve, threads);
}

// Whether packed rows of any leading shape, and outputs for one index, lie in memory as `solve` would have them. If so they are
// filled: a call on a single matrix spends its time on views of arrays, and this one needs none.
bool solve_plain(In packed, int dim, int index, Out value, std::optional<Out> vector, int threads) {
  const int64_t d = dim, width = d * (d + 1) / 2, rows = int64_t(value.size());
  const auto fits = [&](const auto& a, int64_t size) {
    return a.dtype() == packed.dtype() && int64_t(a.size()) == size && dense(a) && uintptr_t(a.data()) % packed.itemsize() == 0;
  };
  const bool plain = dim >= 1 && dim <= max_dim && index >= 0 && index < dim && is_float(packed.dtype()) && packed.ndim() &&
                     int64_t(packed.shape(packed.ndim() - 1)) == width && fits(packed, rows * width) && fits(value, rows) &&
                     (!vector || fits(*vector, rows * d));
  if (!plain) return false;
  const int32_t wanted = index;
  Job job;
  job.dim = dim, job.n_index = 1, job.rows = rows, job.index = &wanted;
  job.double_precision = packed.dtype() == nb::dtype<double>();
  job.matrix = rows_of(const_cast<void*>(packed.data()), width);
  job.value = {value.data(), 1, 1, 1};
  if (vector) job.vector = {vector->data(), d, d, 1};
  run(job, &Kernel::solve, threads);
  return true;
}

void outer(In vector, In grad_value, const Outputs& out, int threads) {
  if (vector.ndim() != 3) throw nb::value_error("vector must be (rows, index, dim)");
  Job job = make_job(vector, std::get<1>(out).has_value(), int(vector.shape(2)), int(vector.shape(1)));
  job.vector = describe(vector, "vector", Axes::row_index_entry, {job.rows, job.n_index, job.dim}, vector.dtype());
  job.grad_value = describe(grad_value, "grad_value", Axes::row_index, {job.rows, job.n_index}, vector.dtype());
  set_grad(job, out, vector.dtype());
  run(job, &Kernel::outer, threads);
}

void vjp(const Matrices& matrices, const std::tuple<In, In>& pair, const std::tuple<In, In>& grads, double near, const Outputs& out,
         int threads) {
  const auto& [value, vector] = pair;
  const auto& [grad_value, grad_vector] = grads;
  if (vector.ndim() != 3) throw nb::value_error("vector must be (rows, index, dim)");
  Job job = matrix_job(matrices, int(vector.shape(1)));
  const auto dtype = std::get<0>(matrices).dtype();
  job.value = describe(value, "value", Axes::row_index, {job.rows, job.n_index}, dtype);
  job.vector = describe(vector, "vector", Axes::row_index_entry, {job.rows, job.n_index, job.dim}, dtype);
  job.grad_value = describe(grad_value, "grad_value", Axes::row_index, {job.rows, job.n_index}, dtype);
  job.grad_vector = describe(grad_vector, "grad_vector", Axes::row_index_entry, {job.rows, job.n_index, job.dim}, dtype);
  job.near = near;
  set_grad(job, out, dtype);
  run(job, &Kernel::vjp, threads);
}

}  // namespace
}  // namespace lambdak

namespace nb = nanobind;

NB_MODULE(_kernel, m) {
  using namespace lambdak;
  nb::set_leak_warnings(false);  // a program may well hold a OneRow until it ends
  active = available().back();
  m.def("solve", &solve, nb::arg("matrices"), nb::arg("index"), nb::arg("out").noconvert(), nb::arg("threads"));
  m.def("solve_plain", &solve_plain, nb::arg("packed"), nb::arg("dim"), nb::arg("index"), nb::arg("value").noconvert(),
        nb::arg("vector").noconvert().none(), nb::arg("threads"));
  m.def("outer", &outer, nb::arg("vector"), nb::arg("grad_value"), nb::arg("out").noconvert(), nb::arg("threads"));
  m.def("vjp", &vjp, nb::arg("matrices"), nb::arg("pair"), nb::arg("grads"), nb::arg("near"),
        nb::arg("out").noconvert(), nb::arg("threads"));
  bind_steps(m);
  bind_band(m);
  bind_table(m);
  bind_packed(m);
  bind_epoch(m);
  bind_shared_epoch(m);
  bind_row(m);
  m.def("isa", [] { return std::string(active.load()->name); });
  m.def("use_isa", &use_isa, nb::arg("name"));
  m.def("available_isas", [] {
    std::vector<std::string> names;
    for (const Kernel* kernel : available()) names.emplace_back(kernel->name);
    return names;
  });
  m.def("num_threads", [] { return num_threads.load(); });
  m.def("set_num_threads", [](int threads) { num_threads = std::max(1, threads); }, nb::arg("threads"));
}
