#include "physarum/model/parameter_layout.hpp"

#include <set>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"

#include "physarum/model/parameter_store.hpp"

#include "small_models.hpp"

namespace physarum::model {
namespace {

TEST(ParameterLayout, names_tensors_as_transformers_does) {
  const auto specs = tensor_specs(small_config());
  ASSERT_EQ(specs.size(), 1 + 2 * 12 + 1U);
  EXPECT_EQ(specs.front().name, "model.embed_tokens.weight");
  EXPECT_EQ(specs.front().shape, (std::vector<std::int64_t>{40, 32}));
  EXPECT_EQ(specs[2].name, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(specs.back().name, "model.norm.weight");
  EXPECT_EQ(tensor_specs(odd_config()).back().name, "lm_head.weight");
}

TEST(ParameterLayout, covers_each_parameter_once_at_aligned_places) {
  for (const auto& config : {small_config(), odd_config()}) {
    const ParameterLayout layout(config);
    std::int64_t end = 0;
    std::int64_t count = 0;
    for (const auto& place : layout.tensors()) {
      EXPECT_GE(place.offset, end) << place.name;
      EXPECT_EQ(place.offset % weights::Catalogue::alignment_elements, 0) << place.name;
      end = place.offset + place.size;
      count += place.size;
    }
    EXPECT_LE(end, layout.total());
    EXPECT_EQ(count, config.parameter_count());
  }
}

TEST(ParameterLayout, is_the_same_in_flat_buffer_and_in_either_image) {
  const ParameterLayout layout(odd_config());
  for (const auto type : {weights::TransferType::f32, weights::TransferType::bf16}) {
    const weights::Catalogue catalogue(tensor_specs(odd_config()), type);
    ASSERT_EQ(catalogue.total_elements(), layout.total());
    for (std::size_t i = 0; i < layout.tensors().size(); ++i) {
      EXPECT_EQ(catalogue.bytes(static_cast<std::int64_t>(i)).begin,
                layout.tensors()[i].offset * weights::element_bytes(type));
    }
  }
}

TEST(ParameterLayout, finds_by_name) {
  const ParameterLayout layout(small_config());
  const auto index = layout.find("model.layers.1.mlp.down_proj.weight");
  ASSERT_GE(index, 0);
  EXPECT_EQ(layout.tensors()[static_cast<std::size_t>(index)].shape,
            (std::vector<std::int64_t>{32, 64}));
  EXPECT_EQ(layout.find("lm_head.weight"), -1);
}

TEST(ModelOffsets, point_at_the_tensors_of_their_roles) {
  const auto config = odd_config();
  const ParameterLayout layout(config);
  const auto at = model_offsets(config, layout);
  const auto offset = [&](const char* name) {
    return layout.tensors()[static_cast<std::size_t>(layout.find(name))].offset;
  };
  EXPECT_EQ(at.head, offset("lm_head.weight"));
  EXPECT_EQ(at.layers[1].output_bias, offset("model.layers.1.self_attn.o_proj.bias"));
  EXPECT_EQ(at.layers[1].up, offset("model.layers.1.mlp.up_proj.weight"));
  EXPECT_EQ(at.layers[0].attention_norm, offset("model.layers.0.post_attention_layernorm.weight"));
  const auto tied = small_config();
  const auto tied_at = model_offsets(tied, ParameterLayout(tied));
  EXPECT_EQ(tied_at.head, tied_at.embedding);
  EXPECT_EQ(tied_at.layers[0].output_bias, -1);
}

TEST(ParameterStore, gives_views_into_flat_buffers) {
  ParameterStore store(odd_config(), Gradients::allocate);
  for (std::size_t i = 0; i < store.layout().tensors().size(); ++i) {
    const auto& place = store.layout().tensors()[i];
    const auto index = static_cast<std::int64_t>(i);
    EXPECT_EQ(store.values(index).data(), store.values().data() + place.offset);
    EXPECT_EQ(store.gradients(index).size(), static_cast<std::size_t>(place.size));
  }
  store.gradients()[3] = 1.0F;
  store.zero_gradients();
  EXPECT_EQ(store.gradients()[3], 0.0F);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(store.values().data()) % 64, 0U);
}

TEST(ParameterStore, has_gradients_only_if_asked) {
  ParameterStore store(small_config(), Gradients::none);
  EXPECT_TRUE(store.gradients().empty());
  EXPECT_THROW((void)store.gradients(0), base::ContractViolation);
}

}  // namespace
}  // namespace physarum::model
