#pragma once

#include <cstdint>
#include <map>

namespace physarum::buffer {

/// A set of numbers that mostly follow one another, kept as intervals: remembering every group that
/// was ever done takes no more room than the gaps between them.
class IdSet {
 public:
  void insert(std::int64_t id);
  [[nodiscard]] bool contains(std::int64_t id) const;
  [[nodiscard]] std::size_t intervals() const { return ends_.size(); }

 private:
  std::map<std::int64_t, std::int64_t> ends_;  ///< begin -> end (one past the last)
};

}  // namespace physarum::buffer
