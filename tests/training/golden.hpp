#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "physarum/training/options.hpp"

namespace physarum::training::test {

/// A file that tests/golden/make_loss_golden.py made.
[[nodiscard]] nlohmann::json read_golden(std::string_view name);
[[nodiscard]] std::vector<float> floats(const nlohmann::json& array);
/// Loss options by their flags' names with underscores.
[[nodiscard]] LossOptions loss_options(const nlohmann::json& named);
void expect_near(std::span<const float> values, const nlohmann::json& expected, double tolerance);

}  // namespace physarum::training::test
