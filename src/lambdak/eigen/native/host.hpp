// What module.cpp and steps.cpp share: array checks, look-up tables, and loops over the thread pool.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <vector>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "gil.hpp"
#include "kernel.hpp"
#include "pool.hpp"

namespace lambdak {

namespace nb = nanobind;
using In = nb::ndarray<nb::ro, nb::device::cpu>;
using Out = nb::ndarray<nb::device::cpu>;
using Indices = std::vector<int32_t>;

// Groups of arguments, as lambdak.eigen.engine names them. Outputs are never converted: a copy would be filled instead.
using Matrices = std::tuple<In, std::optional<In>, int>;  // packed rows, none, dim; or diagonals, off-diagonals, dim
using Outputs = std::tuple<Out, std::optional<Out>>;      // value and vector, or grad and grad_off
using DesignRows = std::tuple<In, In, In>;                // ids, weights, rows

constexpr int max_dim = 512;
constexpr int64_t step_rows = 64;  // of one task of a training step

extern std::atomic<const Kernel*> active;  // the build for this CPU; a call reads it once, for `use_isa` may change it meanwhile
extern std::atomic<int> num_threads;       // of a call that does not say how many

void bind_steps(nb::module_& m);
void bind_band(nb::module_& m);
void bind_table(nb::module_& m);
void bind_packed(nb::module_& m);
void bind_epoch(nb::module_& m);
void bind_shared_epoch(nb::module_& m);
void bind_row(nb::module_& m);

// Points the job to its look-up tables, which `guess` helps to keep.
void complete(Job& job, std::vector<Guess>& guess);

void check_index(const Indices& index, int dim);

inline bool is_float(nb::dlpack::dtype dtype) { return dtype == nb::dtype<float>() || dtype == nb::dtype<double>(); }

// The strides of an array of exactly this shape and dtype; an (rows, index) array has no entries axis.
enum class Axes { row_entry, row_index, row_index_entry };
template <class A>
Array describe(const A& a, const char* name, Axes axes, std::initializer_list<int64_t> shape, nb::dlpack::dtype dtype) {
  bool fits = a.ndim() == shape.size() && a.dtype() == dtype;
  size_t axis = 0;
  for (int64_t extent : shape) fits = fits && int64_t(a.shape(axis++)) == extent;
  if (!fits) throw nb::value_error((std::string(name) + " has the wrong shape or dtype").c_str());
  Array out;
  out.data = const_cast<void*>(static_cast<const void*>(a.data()));
  out.row = a.stride(0);
  out.index = axes == Axes::row_entry ? 0 : a.stride(1);
  out.entry = axes == Axes::row_index ? 1 : a.stride(a.ndim() - 1);
  return out;
}

inline Array rows_of(void* data, int64_t row) { return {data, row, 0, 1}; }

// In C order without gaps; an axis of one entry may have any stride.
template <class A> bool dense(const A& a) {
  if (a.size() == 0) return true;
  int64_t expected = 1;
  for (size_t axis = a.ndim(); axis-- > 0; expected *= int64_t(a.shape(axis)))
    if (a.shape(axis) != 1 && a.stride(axis) != expected) return false;
  return true;
}

template <class A> int64_t extent(const A& a, size_t axis) { return axis < a.ndim() ? int64_t(a.shape(axis)) : -1; }

// The numbers of a dense array of exactly this shape.
template <class T, class A>
T* dense_data(const A& a, const char* name, std::initializer_list<int64_t> shape, nb::dlpack::dtype dtype) {
  bool fits = a.ndim() == shape.size() && a.dtype() == dtype && dense(a);
  size_t axis = 0;
  for (int64_t size : shape) fits = fits && int64_t(a.shape(axis++)) == size;
  if (!fits) throw nb::value_error((std::string(name) + " has the wrong shape, dtype or layout").c_str());
  return static_cast<T*>(const_cast<void*>(static_cast<const void*>(a.data())));
}

// The default floating-point environment, whatever flush-to-zero mode the calling thread has set.
class PlainArithmetic {
#if defined(__SSE2__)
 public:
  PlainArithmetic() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~PlainArithmetic() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#elif defined(__aarch64__)
 public:
  PlainArithmetic() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
    set(0);
  }
  ~PlainArithmetic() { set(saved_); }

 private:
  static void set(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }
  uint64_t saved_;
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

// body(chunk, scratch) for every chunk, without the GIL, each thread with its own scratch of `bytes`; 0 threads stand for
// the process's setting.
template <class Body> void in_parallel(int64_t chunks, int threads, size_t bytes, Body body) {
  std::atomic<bool> out_of_memory{false};
  const WithoutGil unlocked;
  const auto task = [&](int64_t chunk) {
    static thread_local Scratch scratch;
    const PlainArithmetic plain;
    try {
      body(chunk, scratch.get(bytes));
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  parallel_for(chunks, threads > 0 ? threads : num_threads.load(), std::ref(task));  // a reference needs no allocation
  if (out_of_memory) throw std::bad_alloc();
}

}  // namespace lambdak
