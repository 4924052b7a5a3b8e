// Losses of one row, value and slope with respect to raw scores; lambdak.losses says what they mean.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace lambdak {

constexpr double exponent_limit = 40.0;  // exp continues as its tangent from here, as in lambdak.losses

struct LossOfRow {
  double value, slope;
};

// A loss of one raw score, with up to two numbers of its own.
struct RowLoss {
  enum class Kind { squared_error, absolute_error, huber, quantile, log_loss, half_deviance, softmax } kind;
  double a = 0, b = 0;

  static std::optional<RowLoss> named(const std::string& name, const std::vector<double>& numbers) {
    RowLoss loss{Kind::squared_error};
    const std::vector<std::pair<const char*, Kind>> kinds = {
        {"squared_error", Kind::squared_error}, {"absolute_error", Kind::absolute_error}, {"huber", Kind::huber},
        {"quantile", Kind::quantile},           {"log_loss", Kind::log_loss},             {"half_deviance", Kind::half_deviance},
        {"softmax", Kind::softmax}};
    const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& pair) { return name == pair.first; });
    if (found == kinds.end() || numbers.size() > 2) return std::nullopt;
    loss.kind = found->second;
    if (!numbers.empty()) loss.a = numbers[0];
    if (numbers.size() > 1) loss.b = numbers[1];
    return loss;
  }

  LossOfRow at(double raw, double y) const {
    switch (kind) {
      case Kind::absolute_error: return {std::fabs(raw - y), double(raw > y) - double(raw < y)};
      case Kind::huber: {  // a: where it becomes linear
        const double slope = std::clamp(raw - y, -a, a);
        return {slope * (raw - y - 0.5 * slope), slope};
      }
      case Kind::quantile: {  // a: the quantile level
        const double error = y - raw;
        return {std::max(a * error, (a - 1) * error), (raw > y ? 1.0 : 0.0) - a};
      }
      case Kind::log_loss: {
        const double small = std::exp(-std::fabs(raw)), p = raw >= 0 ? 1 / (1 + small) : small / (1 + small);
        return {std::max(raw, 0.0) - y * raw + std::log1p(small), p - y};
      }
      case Kind::half_deviance: return deviance(raw, y);
      default: return {0.5 * (raw - y) * (raw - y), raw - y};
    }
  }

  // μ^a/a + y μ^-b/b minus its minimum over μ, for μ = eʳ.
  LossOfRow deviance(double raw, double y) const {
    constexpr double smallest = 1e-15;
    const bool zero = y < smallest;
    const double unit = zero ? 1.0 : y;
    const double up = a != 0 ? std::exp(std::min(a * raw, exponent_limit)) : 1.0;
    const double down = b != 0 ? y * std::exp(std::min(-b * raw, exponent_limit)) : y;
    return {rise(raw, unit, a) - y * rise(raw, unit, -b) + (zero && a != 0 ? 1 / a : 0.0), up - down};
  }

  // (μᵏ − unitᵏ) / k for μ = eʳ; r − log unit for k = 0.
  static double rise(double raw, double unit, double k) {
    if (k == 0) return raw - std::log(unit);
    const double limit = exponent_limit / k, inside = k > 0 ? std::min(raw, limit) : std::max(raw, limit);
    const double size = std::pow(unit, k), grown = size * std::expm1(k * (inside - std::log(unit)));
    return grown / k + (grown + size) * (raw - inside);
  }
};

// −log softmax of class y: the raw scores (count) become slopes in place; returns the value.
inline double softmax_(double* raw, int64_t count, int64_t y) {
  const double most = *std::max_element(raw, raw + count), own = raw[y] - most;
  double total = 0;
  for (int64_t k = 0; k < count; ++k) total += raw[k] = std::exp(raw[k] - most);
  for (int64_t k = 0; k < count; ++k) raw[k] /= total;
  raw[y] -= 1;
  return std::log(total) - own;
}

}  // namespace lambdak
