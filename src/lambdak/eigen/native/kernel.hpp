// What the instruction-set builds of kernel.cpp offer to module.cpp: plain structs and function pointers.
// Pairs of functions are for float and for double.
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
  double near = 0;                 // of `vjp`: eigenvalues within near ‖A‖_F of λ count as equal to it
  const void* entry_scale = nullptr;  // D factors 1 or 1/√2 in the job's type; absent for tridiagonal input
  Array matrix, off;                  // packed (rows, D); or diagonal (rows, d) and off-diagonal (rows, d - 1)
  Array value, vector;                // outputs of `solve`, inputs of `outer` and `vjp`
  Array grad_value, grad_vector;      // inputs of `outer` and `vjp`
  Array grad, grad_off;               // outputs of `outer` and `vjp`
};

// Rows of a sparse design, and the coefficient matrices they combine: packed A(row) = Σ_s weight_s coef[id_s].
struct Design {
  bool double_precision = false, far = false;  // far: the coefficients do not fit a cache
  int slots = 0, width = 0;        // active entries per row; elements of a coefficient row, a multiple of `pad`
  int64_t stride = 0;              // elements from one coefficient row to the next
  const int32_t* rows = nullptr;   // which design rows
  const int32_t* ids = nullptr;    // (n, slots)
  const void* weights = nullptr;   // (n, slots)
};
constexpr int pad = 16;

// out (rows, width) = left right, right (inner, width), width a multiple of `pad`. Row i of `left` differs from zero between
// the columns spans[i] only, and is stored from there on: left (rows, reach), zeros at the end. With `base` (rows, width) it
// is base + left right. Only the columns first .. last-1 of out are computed, multiples of `pad`.
struct Product {
  const void *left, *right;
  void* out;
  int reach, width;
  const int32_t* spans;
  const void* base;
  int first, last;
};

// Adam's numbers for one step: `rate` holds the correction of the first moment, `correct` that of the second.
struct Adam {
  double beta1, beta2, rate, keep, correct, tiny;
  int64_t spared;  // leading numbers that do not shrink, a multiple of `pad`
};

// One tridiagonal model on its rows: A(x) = Σ_s x_s coef[s], of which coef[s] holds the diagonal, then the off-diagonal times √2.
struct Band {
  Job job;                                          // of its eigenpairs: dim, one index, rows
  int inputs = 0;
  const void *points = nullptr, *target = nullptr;  // (rows, inputs), (rows)
  const void* coef = nullptr;
  int64_t stride = 0, grad_stride = 0;              // elements from one coefficient row to the next
  void* grad = nullptr;                             // of the mean over the rows of (λ_k - target)², like coef
};

// Coefficients that are learned row by row: θ and Adam's two moments side by side, (n_ids, 3, width).
struct Table {
  void* data = nullptr;
  int64_t n_ids = 0;
  int width = 0;
  const void* outer = nullptr;  // (rows, width): what a design row adds to the gradient of its ids, per unit of weight
};

// One slot of a design row. Slots are worked on in buckets of ids whose last bits agree.
template <class T> struct Slot {
  int32_t id, row;
  T weight;
};
constexpr int bucket_bits = 10;

struct Kernel {
  const char* name;
  int64_t (*block_rows)(const Job&);                            // rows that are worked on together
  int64_t (*scratch_bytes)(const Job&);
  void (*solve)(const Job&, int64_t begin, int64_t end, void* scratch);   // eigenvalues, and vectors if wanted
  void (*outer)(const Job&, int64_t begin, int64_t end, void* scratch);   // Σ_m g_m v_m v_mᵀ
  void (*vjp)(const Job&, int64_t begin, int64_t end, void* scratch);     // the derivative through value and vector
  int64_t (*band_bytes[2])(const Band&);
  void (*band[2])(const Band&, void* scratch);  // the gradient of one model
  void (*gather[2])(const Design&, int64_t begin, int64_t end, const void* coef, void* packed);   // packed[i] = A(row i)
  void (*scatter[2])(const Design&, int64_t begin, int64_t end, const void* packed, void* coef);  // its transpose, added
  void (*multiply[2])(const Product&, int64_t begin, int64_t end);  // some rows of out = left right
  uint32_t (*largest)(const int32_t* ids, int64_t count);           // a negative one is huge
  void (*add)(float* to, const float* from, int64_t count);         // to += from, count a multiple of `pad`
  uint32_t (*add_whole)(int64_t* to, const float* from, double per_unit, int64_t count);  // in units; bits of the largest
  void (*adam[2])(const Adam&, void* theta, const void* grad, void* first, void* second, int64_t count);
  int64_t (*descend_bytes[2])(const Table&, int64_t most);  // scratch for buckets of at most so many slots
  void (*descend[2])(const Adam&, const Table&, const void* slots, int64_t count, void* scratch);  // one bucket
};

extern const Kernel kernel_baseline, kernel_avx2, kernel_avx512;

}  // namespace lambdak
