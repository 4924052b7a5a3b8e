// The training step of lambdak.eigen._kernel on a table of which a batch names a few rows only.
#include <algorithm>
#include <utility>

#include "host.hpp"

namespace lambdak {
namespace {

constexpr int64_t buckets = int64_t(1) << bucket_bits;
constexpr int64_t parts = 8;     // of the batch: they only share the work, the result does not depend on them
constexpr int64_t at_once = 16;  // buckets

constexpr int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

using Batch = std::tuple<In, In>;                                        // ids, weights
using DescentRule = std::tuple<double, double, double, double, double>;  // rate, beta1, beta2, correct, tiny

// One call: the batch, the table, and the memory between its three loops.
struct Descent {
  Design design;
  Table table;
  Job outer;
  int64_t rows, part_rows;
  void* slots;                  // (rows · slots) of Slot<T>, bucket by bucket
  std::vector<int64_t> starts;  // (parts, buckets): where a part's slots of a bucket go

  const Kernel* build = active;

  Descent(const Batch& batch, const In& vector, const In& grad_value, int dim, const Out& data);
  template <class T> void reserve();
  bool count(int64_t part);
  void arrange();
  template <class T> void fill(int64_t part);
  template <class T> void update(const Adam& step, int threads);
  template <class T> void run(const Adam& step, int threads);
};

Descent::Descent(const Batch& batch, const In& vector, const In& grad_value, int dim, const Out& data) {
  const auto& [ids, weights] = batch;
  if (dim < 1 || dim > max_dim || !is_float(data.dtype())) throw nb::value_error("bad dim or dtype");
  if (ids.ndim() != 2 || vector.ndim() != 3 || data.ndim() != 3) throw nb::value_error("ids, vector or table have the wrong shape");
  const auto dtype = data.dtype();
  const int64_t width = round_up(int64_t(dim) * (dim + 1) / 2, pad), n_slots = int64_t(ids.shape(1));
  rows = int64_t(ids.shape(0));
  outer.dim = dim, outer.n_index = int(vector.shape(1)), outer.rows = rows;
  outer.double_precision = design.double_precision = dtype == nb::dtype<double>();
  if (outer.n_index < 1 || rows > INT32_MAX || n_slots > INT32_MAX) throw nb::value_error("too many rows or slots, or no vectors");
  table.n_ids = int64_t(data.shape(0)), table.width = design.width = int(width);
  table.data = describe(data, "table", Axes::row_index_entry, {table.n_ids, 3, width}, dtype).data;
  design.slots = int(n_slots);
  design.ids = static_cast<const int32_t*>(describe(ids, "ids", Axes::row_entry, {rows, n_slots}, nb::dtype<int32_t>()).data);
  design.weights = describe(weights, "weights", Axes::row_entry, {rows, n_slots}, dtype).data;
  outer.vector = describe(vector, "vector", Axes::row_index_entry, {rows, outer.n_index, dim}, dtype);
  outer.grad_value = describe(grad_value, "grad_value", Axes::row_index, {rows, outer.n_index}, dtype);
  if (!dense(ids) || !dense(weights) || !dense(data)) throw nb::value_error("ids, weights and table must be contiguous");
  part_rows = round_up((rows + parts - 1) / parts, 64);  // whole blocks of the kernel
}

// The memory of a step is kept for the next one.
template <class T> void Descent::reserve() {
  static thread_local Scratch kept;
  const int64_t outer_bytes = rows * table.width * int64_t(sizeof(T)), slot_bytes = rows * design.slots * int64_t(sizeof(Slot<T>));
  char* const base = static_cast<char*>(kept.get(size_t(outer_bytes + slot_bytes)));
  outer.grad = rows_of(base, table.width);
  table.outer = base;
  slots = base + outer_bytes;
  starts.assign(size_t(parts * buckets), 0);
}

// How many slots a part has in each bucket; false if one of them names a row that does not exist.
bool Descent::count(int64_t part) {
  int64_t* const counts = starts.data() + part * buckets;
  uint32_t largest = 0;  // a negative id is a huge one
  const int64_t last = std::min(rows, (part + 1) * part_rows) * design.slots;
  for (int64_t i = part * part_rows * design.slots; i < last; ++i) {
    largest = std::max(largest, uint32_t(design.ids[i]));
    ++counts[design.ids[i] & (buckets - 1)];
  }
  return int64_t(largest) < table.n_ids;
}

// From counts to starts: bucket by bucket, and within a bucket part by part, so that slots stay in order.
void Descent::arrange() {
  int64_t total = 0;
  for (int64_t bucket = 0; bucket < buckets; ++bucket)
    for (int64_t part = 0; part < parts; ++part) total += std::exchange(starts[size_t(part * buckets + bucket)], total);
}

template <class T> void Descent::fill(int64_t part) {
  int64_t* const next = starts.data() + part * buckets;
  Slot<T>* const to = static_cast<Slot<T>*>(slots);
  const int64_t last = std::min(rows, (part + 1) * part_rows);
  for (int64_t row = part * part_rows; row < last; ++row)
    for (int64_t i = row * design.slots; i < (row + 1) * design.slots; ++i)
      to[next[design.ids[i] & (buckets - 1)]++] = {design.ids[i], int32_t(row), static_cast<const T*>(design.weights)[i]};
}

// After `fill`, the starts of the last part are the ends of the buckets.
template <class T> void Descent::update(const Adam& step, int threads) {
  const int64_t* const ends = starts.data() + (parts - 1) * buckets;
  int64_t most = 0;
  for (int64_t bucket = 0; bucket < buckets; ++bucket) most = std::max(most, ends[bucket] - (bucket ? ends[bucket - 1] : 0));
  const size_t bytes = size_t(build->descend_bytes[design.double_precision](table, most));
  in_parallel(buckets / at_once, threads, bytes, [&](int64_t task, void* scratch) {
    std::memset(scratch, 0, size_t((table.n_ids >> bucket_bits) + 1) * 4);
    for (int64_t bucket = task * at_once; bucket < (task + 1) * at_once; ++bucket) {
      const int64_t first = bucket ? ends[bucket - 1] : 0;
      build->descend[design.double_precision](step, table, static_cast<Slot<T>*>(slots) + first, ends[bucket] - first, scratch);
    }
  });
}

template <class T> void Descent::run(const Adam& step, int threads) {
  if (rows * design.slots == 0) return;
  if (rows * design.slots * table.width < 20000) threads = 1;
  std::atomic<bool> bad_id{false};
  reserve<T>();
  in_parallel(parts, threads, size_t(build->scratch_bytes(outer)), [&](int64_t part, void* scratch) {
    const int64_t first = std::min(rows, part * part_rows), last = std::min(rows, first + part_rows);
    if (!count(part)) bad_id = true;
    std::memset(static_cast<T*>(outer.grad.data) + first * table.width, 0, size_t((last - first) * table.width) * sizeof(T));
    build->outer(outer, first, last, scratch);
  });
  if (bad_id) throw nb::value_error("ids holds a row that does not exist");
  arrange();
  in_parallel(parts, threads, 0, [&](int64_t part, void*) { fill<T>(part); });
  update<T>(step, threads);
}

// One step of Adam on the rows of table (n_ids, 3, padded D) that ids (rows, slots) name: θ and its two moments, with the
// gradient Σ weight Σ_m g v vᵀ. The slots of an id are summed in their order, whatever the thread count. All input is
// read before the table is written.
void descend(const Batch& batch, In vector, In grad_value, int dim, Out table, const DescentRule& rule, int threads) {
  Descent descent(batch, vector, grad_value, dim, table);
  const auto [rate, beta1, beta2, correct, tiny] = rule;
  const Adam step{beta1, beta2, rate, 1.0, correct, tiny, 0};
  descent.design.double_precision ? descent.run<double>(step, threads) : descent.run<float>(step, threads);
}

}  // namespace

void bind_table(nb::module_& m) {
  m.def("descend", &descend, nb::arg("batch"), nb::arg("vector"), nb::arg("grad_value"), nb::arg("dim"),
        nb::arg("table").noconvert(), nb::arg("rule"), nb::arg("threads"));
}

}  // namespace lambdak
