// Records of lambdak.eigen._kernel: design rows are encoded, and are gathered and decoded in one pass.
#include "packed.hpp"

#include "host.hpp"

namespace lambdak {
namespace {

constexpr int64_t block = 128;        // records decoded together, column by column: what they fill stays in the first cache
constexpr int64_t task_rows = 4096;   // of one task: some hundreds of microseconds

// Which records, one after the other or as an order says.
struct Order {
  const void* data;
  bool wide;
  int64_t at(int64_t i) const {
    return !data ? i : wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};

Order read_order(const std::optional<In>& order, int64_t& rows) {
  if (!order) return {nullptr, false};
  const bool wide = order->dtype() == nb::dtype<int64_t>();
  rows = extent(*order, 0);
  return {dense_data<void>(*order, "order", {rows}, wide ? nb::dtype<int64_t>() : nb::dtype<int32_t>()), wide};
}

std::vector<Field> read_fields(const In& fields, int64_t record_bytes) {
  const int64_t columns = extent(fields, 0);
  const int64_t* from = dense_data<int64_t>(fields, "fields", {columns, 6}, nb::dtype<int64_t>());
  std::vector<Field> result;
  for (int64_t column = 0; column < columns; ++column, from += 6) {
    const Field field{Entry(from[0]), from[1], from[2], from[3], from[4], from[5]};
    const bool coded = field.entry == Entry::piece   ? field.code_bytes == 1 || field.code_bytes == 2
                       : field.entry == Entry::line  ? field.code_bytes == 0
                       : field.entry == Entry::level ? field.code_bytes == 0 || field.code_bytes == 1 || field.code_bytes == 2 || field.code_bytes == 4
                                                     : false;
    const auto in_range = [](int64_t value, int64_t low) { return value >= low && value < (int64_t(1) << 28); };
    if (!coded || !in_range(field.first, 0) || !in_range(field.start, 0) || !in_range(field.count, 1) || !in_range(field.missing, -1) ||
        field.first + field.bytes() > record_bytes)
      throw nb::value_error("fields does not describe records of this length");
    result.push_back(field);
  }
  return result;
}

using Numbers = std::vector<std::tuple<int64_t, std::string, Out>>;

std::vector<Number> read_all(const Numbers& numbers, int64_t rows, int64_t record_bytes) {
  std::vector<Number> result;
  for (const auto& [first, type, out] : numbers) {
    if (type != "f8" && type != "f4" && type != "i4" && type != "u1") throw nb::value_error("numbers must be f8, f4, i4 or u1");
    const Number number{first, type, dense_data<double>(out, "numbers", {rows}, nb::dtype<double>())};
    if (first < 0 || first > record_bytes - number.bytes()) throw nb::value_error("numbers does not describe records of this length");
    result.push_back(number);
  }
  return result;
}

// One call: what to decode, and where to.
struct Unpacking {
  const uint8_t* records;
  int64_t n_records, record_bytes, rows, slots;
  Order order;
  std::vector<Field> fields;
  std::vector<Number> numbers;
  int32_t* ids;
  float* weights;
  std::atomic<bool> bad_order{false}, bad_code{false};

  // Where records of a block lie, one after the other: those of an order are copied, for they may be anywhere in memory.
  const uint8_t* gather(int64_t row, int64_t n, uint8_t* scratch) {
    if (!order.data) return records + row * record_bytes;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = order.at(row + i);
      if (at < 0 || at >= n_records) return nullptr;
      std::memcpy(scratch + i * record_bytes, records + at * record_bytes, size_t(record_bytes));
    }
    return scratch;
  }

  void run_block(int64_t row, int64_t n, uint8_t* scratch) {
    const Records from{gather(row, n, scratch), record_bytes};
    if (!from.data) {
      bad_order = true;
      return;
    }
    Slots to{ids + row * slots, weights + row * slots, slots};
    bool valid = fill(n, 0, to);
    ++to.ids, ++to.weights;
    for (const Field& field : fields) {
      valid = decode(field, from, n, to) && valid;
      to.ids += field.slots(), to.weights += field.slots();
    }
    if (!valid) bad_code = true;
    for (const Number& number : numbers) read(number, from, n, row);
  }
};

void unpack(In records, const std::optional<In>& order, In fields, const std::tuple<Out, Out>& out, const Numbers& numbers, int threads) {
  Unpacking job;
  job.n_records = job.rows = extent(records, 0), job.record_bytes = extent(records, 1);
  job.records = dense_data<uint8_t>(records, "records", {job.n_records, job.record_bytes}, nb::dtype<uint8_t>());
  job.order = read_order(order, job.rows);
  job.fields = read_fields(fields, job.record_bytes);
  job.numbers = read_all(numbers, job.rows, job.record_bytes);
  job.slots = 1;
  for (const Field& field : job.fields) job.slots += field.slots();
  job.ids = dense_data<int32_t>(std::get<0>(out), "ids", {job.rows, job.slots}, nb::dtype<int32_t>());
  job.weights = dense_data<float>(std::get<1>(out), "weights", {job.rows, job.slots}, nb::dtype<float>());
  in_parallel((job.rows + task_rows - 1) / task_rows, threads, size_t(block * job.record_bytes), [&](int64_t task, void* scratch) {
    const int64_t end = std::min(job.rows, (task + 1) * task_rows);
    for (int64_t row = task * task_rows; row < end; row += block)
      job.run_block(row, std::min(block, end - row), static_cast<uint8_t*>(scratch));
  });
  if (job.bad_order) throw nb::value_error("order holds a record that does not exist");
  if (job.bad_code) throw nb::value_error("records hold a code that does not exist");
}

void pack(const std::tuple<In, In>& design, In fields, Out records, int threads) {
  const auto& [ids, weights] = design;
  const int64_t rows = extent(records, 0), record_bytes = extent(records, 1);
  uint8_t* const to = dense_data<uint8_t>(records, "records", {rows, record_bytes}, nb::dtype<uint8_t>());
  const std::vector<Field> columns = read_fields(fields, record_bytes);
  int64_t slots = 1;
  for (const Field& field : columns) slots += field.slots();
  const Rows from{dense_data<int32_t>(ids, "ids", {rows, slots}, nb::dtype<int32_t>()),
                  dense_data<float>(weights, "weights", {rows, slots}, nb::dtype<float>()), slots};
  std::atomic<bool> bad{false};
  in_parallel((rows + block - 1) / block, threads, 0, [&](int64_t task, void*) {
    const int64_t row = task * block, n = std::min(block, rows - row);
    int64_t slot = row * slots + 1;
    for (const Field& field : columns) {
      if (!encode(field, {from.ids + slot, from.weights + slot, slots}, n, to + row * record_bytes, record_bytes)) bad = true;
      slot += field.slots();
    }
  });
  if (bad) throw nb::value_error("design holds an id or a weight that does not fit into its records");
}

}  // namespace

void bind_packed(nb::module_& m) {
  m.def("pack", &pack, nb::arg("design"), nb::arg("fields"), nb::arg("records").noconvert(), nb::arg("threads"));
  m.def("unpack", &unpack, nb::arg("records"), nb::arg("order").none(), nb::arg("fields"), nb::arg("out").noconvert(),
        nb::arg("numbers").noconvert(), nb::arg("threads"));
}

}  // namespace lambdak
