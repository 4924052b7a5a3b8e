// Left factors of the kernel's products, one for each kind of model, as the bindings of training steps keep them.
#pragma once
#include <cstdint>
#include <vector>

#include "host.hpp"

namespace lambdak {

struct Factor {
  const float* data = nullptr;
  int64_t rows = 0, reach = 0;
  const int32_t* spans = nullptr;

  // Throws unless every row lies within `inner` rows on the right, and is stored as a whole.
  void check(int64_t inner) const {
    for (int64_t i = 0; i < rows; ++i)
      if (const int32_t* s = spans + 2 * i; s[0] < 0 || s[0] > s[1] || s[1] > inner || s[1] - s[0] > reach)
        throw nb::value_error("spans must lie within the factor");
  }

  // Columns from .. to-1 of out = base + factor right, (rows, width); base may be out, or absent.
  void multiply(const Kernel* build, int64_t kind, const float* right, float* out, const float* base, int64_t width, int64_t from,
                int64_t to) const {
    build->multiply[0]({data + kind * rows * reach, right, out, int(reach), int(width), spans, base, int(from), int(to)}, 0, rows);
  }
};

// Spans of rows that reach from the first column to `last`.
inline std::vector<int32_t> whole_spans(int64_t rows, int64_t last) {
  std::vector<int32_t> spans(size_t(2 * rows), 0);
  for (int64_t i = 0; i < rows; ++i) spans[size_t(2 * i + 1)] = int32_t(last);
  return spans;
}

}  // namespace lambdak
