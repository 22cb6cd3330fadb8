#include "id_set.hpp"

#include <iterator>

namespace physarum::buffer {

bool IdSet::contains(std::int64_t id) const {
  const auto after = ends_.upper_bound(id);
  return after != ends_.begin() && std::prev(after)->second > id;
}

void IdSet::insert(std::int64_t id) {
  if (contains(id)) return;
  std::int64_t begin = id, end = id + 1;
  auto after = ends_.upper_bound(id);
  if (after != ends_.begin() && std::prev(after)->second == id) {
    begin = std::prev(after)->first;
    ends_.erase(std::prev(after));
  }
  if (after != ends_.end() && after->first == end) {
    end = after->second;
    ends_.erase(after);
  }
  ends_[begin] = end;
}

}  // namespace physarum::buffer
