// Records of lambdak.eigen._kernel: design rows as a few bytes per column, encoded, and gathered and decoded in one pass.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "host.hpp"

namespace lambdak {
namespace {

constexpr int64_t block = 128;        // records decoded together, column by column: what they fill stays in the first cache
constexpr int64_t task_rows = 4096;   // of one task: some hundreds of microseconds
constexpr uint32_t codes_of_piece = 6;
constexpr uint32_t sign = uint32_t(1) << 31;  // of a float

enum class Entry : int64_t { piece, line, level };

// How one column is kept, as lambdak.eigen.engine.RecordEngine says.
struct Field {
  Entry entry;
  int64_t first, code_bytes, start, count, missing;
  int64_t bytes() const { return code_bytes + (entry == Entry::level ? 0 : 4); }
  int64_t slots() const { return entry == Entry::piece ? 2 : 1; }
};

// A number beside the design: where it lies, what it is, and where it goes.
struct Number {
  int64_t first;
  std::string type;
  double* out;
  int64_t bytes() const { return type == "f8" ? 8 : type == "u1" ? 1 : 4; }
};

// The slots of one column in a block of rows.
struct Slots {
  int32_t* ids;
  float* weights;
  int64_t stride;
};

// Records of a block, one after the other.
struct Records {
  const uint8_t* data;
  int64_t stride;
  const uint8_t* at(int64_t i, int64_t first) const { return data + i * stride + first; }
};

template <class T> T load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Both neighbours in one store.
template <class T> void store(void* to, T first, T second) {
  const T pair[2] = {first, second};
  std::memcpy(to, pair, sizeof(pair));
}

// Each of these says whether all codes were valid; what it writes for others lies within the output all the same.
template <class Code, bool missing_cells> bool decode_pieces(const Field& field, Records records, int64_t n, Slots to) {
  const uint32_t end = codes_of_piece * uint32_t(field.count);
  const int32_t start = int32_t(field.start), missing = int32_t(field.missing);
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint8_t* const from = records.at(i, field.first);
    const uint32_t code = load<Code>(from), piece = code / codes_of_piece, within = code % codes_of_piece;
    const uint32_t small = load<uint32_t>(from + sizeof(Code)), first = within >= 3;
    const uint32_t large = std::bit_cast<uint32_t>(float(1.0 - double(std::bit_cast<float>(small)))) + within - 3 * first - 1;
    const uint32_t swap = (small ^ large) & -first;  // which one comes first is a toss-up: a branch would be mispredicted
    store<uint32_t>(to.weights + i * to.stride, large ^ swap, small ^ swap);
    store<int32_t>(to.ids + i * to.stride, start + int32_t(piece), start + int32_t(piece) + 1);
    if (missing_cells && code == end) {
      store(to.weights + i * to.stride, 1.0f, 0.0f);
      store(to.ids + i * to.stride, missing, missing);
    }
    largest = std::max(largest, code);
  }
  return largest < end + uint32_t(missing_cells);
}

bool decode_line(const Field& field, Records records, int64_t n, Slots to) {
  const int32_t start = int32_t(field.start), missing = int32_t(field.missing);
  bool some_gone = false;
  for (int64_t i = 0; i < n; ++i) {
    const float weight = load<float>(records.at(i, field.first));
    const bool gone = std::isnan(weight);
    to.ids[i * to.stride] = gone ? missing : start;
    to.weights[i * to.stride] = gone ? 1.0f : weight;
    some_gone |= gone;
  }
  return !some_gone || field.missing >= 0;
}

template <class Code> bool decode_levels(const Field& field, Records records, int64_t n, Slots to) {
  const uint32_t count = uint32_t(field.count);
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t code = load<Code>(records.at(i, field.first));
    const bool unseen = code >= count;
    to.ids[i * to.stride] = int32_t(field.start) + (unseen ? 0 : int32_t(code));
    to.weights[i * to.stride] = unseen ? 0.0f : 1.0f;
    largest = std::max(largest, code);
  }
  return largest <= count;
}

bool fill(int64_t n, int32_t id, Slots to) {
  for (int64_t i = 0; i < n; ++i) to.ids[i * to.stride] = id, to.weights[i * to.stride] = 1.0f;
  return true;
}

template <class Code> bool decode_pieces(const Field& field, Records records, int64_t n, Slots to) {
  return field.missing < 0 ? decode_pieces<Code, false>(field, records, n, to) : decode_pieces<Code, true>(field, records, n, to);
}

bool decode(const Field& field, Records records, int64_t n, Slots to) {
  if (field.entry == Entry::line) return decode_line(field, records, n, to);
  if (field.entry == Entry::piece)
    return field.code_bytes == 1 ? decode_pieces<uint8_t>(field, records, n, to) : decode_pieces<uint16_t>(field, records, n, to);
  switch (field.code_bytes) {
    case 0: return fill(n, int32_t(field.start), to);
    case 1: return decode_levels<uint8_t>(field, records, n, to);
    case 2: return decode_levels<uint16_t>(field, records, n, to);
    default: return decode_levels<uint32_t>(field, records, n, to);
  }
}

// What encodes a column: ids and weights of a block of rows, and where its records begin. Each says whether all of them fit.
struct Rows {
  const int32_t* ids;
  const float* weights;
  int64_t stride;
};

template <class T> void save(uint8_t* to, T value) { std::memcpy(to, &value, sizeof(T)); }

template <class Code> bool encode_pieces(const Field& field, Rows from, int64_t n, uint8_t* to, int64_t record_bytes) {
  bool valid = true;
  for (int64_t i = 0; i < n; ++i, to += record_bytes) {
    const uint32_t w0 = std::bit_cast<uint32_t>(from.weights[i * from.stride]);
    const uint32_t w1 = std::bit_cast<uint32_t>(from.weights[i * from.stride + 1]);
    const uint32_t first = (w0 & ~sign) < (w1 & ~sign), swap = (w0 ^ w1) & -first, small = w1 ^ swap, large = w0 ^ swap;
    const uint32_t unit = large - std::bit_cast<uint32_t>(float(1.0 - double(std::bit_cast<float>(small)))) + 1;
    const int64_t id = from.ids[i * from.stride], piece = id - field.start;
    const bool gone = id == field.missing;
    valid &= gone | ((unit <= 2) & (piece >= 0) & (piece < field.count));
    save(to, Code(gone ? codes_of_piece * field.count : codes_of_piece * piece + 3 * first + unit));
    save(to + sizeof(Code), small);
  }
  return valid;
}

bool encode_line(const Field& field, Rows from, int64_t n, uint8_t* to, int64_t record_bytes) {
  bool valid = true;
  for (int64_t i = 0; i < n; ++i, to += record_bytes) {
    const int32_t id = from.ids[i * from.stride];
    const float weight = from.weights[i * from.stride];
    valid = valid && (id == field.missing || (id == field.start && !std::isnan(weight)));
    save(to, id == field.missing ? std::numeric_limits<float>::quiet_NaN() : weight);
  }
  return valid;
}

template <class Code> bool encode_levels(const Field& field, Rows from, int64_t n, uint8_t* to, int64_t record_bytes) {
  bool valid = true;
  for (int64_t i = 0; i < n; ++i, to += record_bytes) {
    const int64_t level = from.ids[i * from.stride] - field.start;
    valid = valid && level >= 0 && level < field.count;
    save(to, Code(from.weights[i * from.stride] == 0.0f ? field.count : level));
  }
  return valid;
}

bool encode(const Field& field, Rows from, int64_t n, uint8_t* records, int64_t record_bytes) {
  uint8_t* const to = records + field.first;
  if (field.entry == Entry::line) return encode_line(field, from, n, to, record_bytes);
  if (field.entry == Entry::piece)
    return field.code_bytes == 1 ? encode_pieces<uint8_t>(field, from, n, to, record_bytes)
                                 : encode_pieces<uint16_t>(field, from, n, to, record_bytes);
  switch (field.code_bytes) {
    case 0: return true;
    case 1: return encode_levels<uint8_t>(field, from, n, to, record_bytes);
    case 2: return encode_levels<uint16_t>(field, from, n, to, record_bytes);
    default: return encode_levels<uint32_t>(field, from, n, to, record_bytes);
  }
}

template <class T> void read_numbers(const Number& number, Records records, int64_t n, double* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = double(load<T>(records.at(i, number.first)));
}

void read(const Number& number, Records records, int64_t n, int64_t row) {
  double* const to = number.out + row;
  if (number.type == "f8") read_numbers<double>(number, records, n, to);
  if (number.type == "f4") read_numbers<float>(number, records, n, to);
  if (number.type == "i4") read_numbers<int32_t>(number, records, n, to);
  if (number.type == "u1") read_numbers<uint8_t>(number, records, n, to);
}

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
