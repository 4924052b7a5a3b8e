// How design rows become records of a few bytes per column, and come back: block by block, column by column.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace lambdak {
namespace {

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

}  // namespace
}  // namespace lambdak
