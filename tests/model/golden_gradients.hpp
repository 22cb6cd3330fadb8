#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physarum/model/parameter_store.hpp"

#include "model/vector_norms.hpp"

namespace physarum::model {

/// Compares each tensor's gradient with read("grad.<name>"), as vectors, relatively.
template <class Read>
void expect_gradients(ParameterStore& store, double tolerance, const Read& read) {
  for (std::size_t i = 0; i < store.layout().tensors().size(); ++i) {
    const auto& name = store.layout().tensors()[i].name;
    const std::vector<float> expected = read("grad." + name);
    const auto gradient = store.gradients(static_cast<std::int64_t>(i));
    ASSERT_EQ(gradient.size(), expected.size()) << name;
    // A key's bias shifts all scores of a query alike: its true gradient is zero, and both sides
    // hold rounding errors. So the scale is that of the whole gradient, if a tensor's is tiny.
    const double scale = std::max(norm(expected), 1e-3 * norm(store.gradients()));
    EXPECT_LE(distance(gradient, expected), tolerance * scale) << name;
  }
}

}  // namespace physarum::model
