// What the instruction-set builds of kernel.cpp offer to module.cpp: plain structs and function pointers.
#pragma once
#include <cstdint>

namespace lambdak {

// Element strides of a (rows, index, entries) array; data == nullptr where an array is absent.
struct Array {
  void* data = nullptr;
  int64_t row = 0, index = 0, entry = 0;
};

struct Guess {
  double position, spacing;
};

struct Job {
  bool double_precision = false, tridiagonal = false;
  int dim = 0, n_index = 0;
  int64_t rows = 0;
  const int32_t* index = nullptr;  // n_index, increasing
  const Guess* guess = nullptr;    // n_index
  const void* entry_scale = nullptr;  // D factors 1 or 1/√2 in the job's type; absent for tridiagonal input
  Array matrix, off;                  // packed (rows, D); or diagonal (rows, d) and off-diagonal (rows, d - 1)
  Array value, vector;                // outputs of `solve`, inputs of `outer` and `vjp`
  Array grad_value, grad_vector;      // inputs of `outer` and `vjp`
  Array grad, grad_off;               // outputs of `outer` and `vjp`
};

struct Kernel {
  const char* name;
  int64_t (*block_rows)(const Job&);                            // rows that are worked on together
  int64_t (*scratch_bytes)(const Job&);
  void (*solve)(const Job&, int64_t begin, int64_t end, void* scratch);   // eigenvalues, and vectors if asked for
  void (*outer)(const Job&, int64_t begin, int64_t end, void* scratch);   // Σ_m g_m v_m v_mᵀ
  void (*vjp)(const Job&, int64_t begin, int64_t end, void* scratch);     // the derivative through value and vector
};

extern const Kernel kernel_baseline, kernel_avx2, kernel_avx512;

}  // namespace lambdak
