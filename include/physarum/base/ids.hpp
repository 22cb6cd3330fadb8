#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace physarum::base {

/// A number that is one kind of thing only: a SampleId is never a GroupId. Negative means "none".
template <class Tag, class Rep = std::int64_t>
class Id {
 public:
  using rep = Rep;
  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }
  [[nodiscard]] constexpr bool valid() const { return value_ >= 0; }
  friend constexpr auto operator<=>(Id, Id) = default;  // NOLINT(modernize-use-nullptr)
  friend constexpr bool operator==(Id, Id) = default;

 private:
  Rep value_ = -1;
};

using PromptId = Id<struct PromptTag>;        ///< row in the prompt source
using GroupId = Id<struct GroupTag>;          ///< one prompt's samples of one draw
using SampleId = Id<struct SampleTag>;        ///< one answer; global over the whole run
using LeaseId = Id<struct LeaseTag>;          ///< one lending of a group to an engine
using WeightVersion = Id<struct VersionTag>;  ///< 0 is the initial model
using WorldRank = Id<struct WorldRankTag, int>;
using GroupRank = Id<struct GroupRankTag, int>;  ///< rank inside a role's own communicator

using TokenId = std::int32_t;

}  // namespace physarum::base

template <class Tag, class Rep>
struct std::hash<physarum::base::Id<Tag, Rep>> {
  std::size_t operator()(physarum::base::Id<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
