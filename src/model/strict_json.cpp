#include "strict_json.hpp"

#include <set>
#include <string>
#include <vector>

#include "physarum/base/error.hpp"

namespace physarum::model {

namespace {
constexpr int deepest = 8;

/// Looks at the events of the parser; nlohmann's object would keep the last of two equal names.
class Watch {
 public:
  explicit Watch(std::string_view where) : where_(where) {}

  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > deepest) refuse("is nested too deep");
    if (event == Event::object_start) names_.emplace_back();
    if (event == Event::object_end) names_.pop_back();
    if (event == Event::key && !names_.back().insert(value.get<std::string>()).second) {
      refuse("has the name '" + value.get<std::string>() + "' twice");
    }
    return true;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw base::UserError(what, where_, "the file is damaged; get it again");
  }
  std::string_view where_;
  std::vector<std::set<std::string>> names_;
};
}  // namespace

nlohmann::json parse_strict_json(std::string_view text, std::string_view where) {
  Watch watch(where);
  // The parser stores a copy of its callback: hand it a reference to the one that keeps the state.
  const auto callback = [&watch](int depth, nlohmann::json::parse_event_t event,
                                 const nlohmann::json& value) {
    return watch(depth, event, value);
  };
  auto json = nlohmann::json::parse(text, callback, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    throw base::UserError("is not valid JSON", where, "the file is damaged; get it again");
  }
  return json;
}

}  // namespace physarum::model
