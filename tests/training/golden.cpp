#include "training/golden.hpp"

#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

namespace physarum::training::test {

nlohmann::json read_golden(std::string_view name) {
  std::ifstream file(std::filesystem::path(PHYSARUM_TEST_DATA) / name);
  return nlohmann::json::parse(file);
}

std::vector<float> floats(const nlohmann::json& array) { return array.get<std::vector<float>>(); }

LossOptions loss_options(const nlohmann::json& named) {
  const std::map<std::string, KlType> types{{"k1", KlType::k1},
                                            {"k2", KlType::k2},
                                            {"k3", KlType::k3},
                                            {"low_var_kl", KlType::low_var_kl}};
  LossOptions options;
  options.eps_clip = named.at("eps_clip");
  if (named.contains("eps_clip_high")) options.eps_clip_high = named["eps_clip_high"];
  if (named.contains("eps_clip_c")) options.eps_clip_c = named["eps_clip_c"];
  options.use_kl_loss = named.at("use_kl_loss");
  options.kl_loss_coef = named.at("kl_loss_coef");
  options.kl_loss_type = types.at(named.at("kl_loss_type"));
  options.use_unbiased_kl = named.at("use_unbiased_kl");
  options.entropy_coef = named.at("entropy_coef");
  options.calculate_per_token_loss = named.at("calculate_per_token_loss");
  options.use_tis = named.at("use_tis");
  options.tis_clip = named.at("tis_clip");
  options.tis_clip_low = named.at("tis_clip_low");
  return options;
}

void expect_near(std::span<const float> values, const nlohmann::json& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i].get<double>(), tolerance) << "element " << i;
  }
}

}  // namespace physarum::training::test
