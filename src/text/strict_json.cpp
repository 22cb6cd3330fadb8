#include "physarum/text/strict_json.hpp"

#include <string>
#include <unordered_set>
#include <vector>

#include "physarum/base/error.hpp"

#include "physarum/text/utf8.hpp"

namespace physarum::text {

namespace {

/// Follows the parser and refuses what JSON allows and we do not.
template <class Json>
class Guard {
  using Event = typename Json::parse_event_t;

 public:
  Guard(std::string_view where, std::size_t max_depth) : where_(where), max_depth_(max_depth) {}

  void operator()(int depth, Event event, const Json& value) {
    if (event == Event::object_start || event == Event::array_start) {
      if (static_cast<std::size_t>(depth) >= max_depth_) {
        throw base::UserError("the JSON is nested deeper than " + std::to_string(max_depth_),
                              where_, "flatten it");
      }
    }
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key) add_key(value.template get_ref<const std::string&>());
  }

 private:
  void add_key(const std::string& key) {
    if (keys_.back().insert(key).second) return;
    throw base::UserError("the key '" + key + "' stands twice in one JSON object", where_,
                          "remove one of them");
  }

  std::string where_;
  std::size_t max_depth_;
  std::vector<std::unordered_set<std::string>> keys_;
};

/// nlohmann's messages begin with a bracketed name and number of the exception, and quote what they
/// read, which may be megabytes and no UTF-8.
std::string readable(std::string_view message) {
  constexpr std::size_t longest = 200;
  const auto tag_end = message.find("] ");
  if (message.starts_with('[') && tag_end != message.npos) message.remove_prefix(tag_end + 2);
  return replace_invalid_utf8(message.substr(0, longest)) + (message.size() > longest ? "..." : "");
}

template <class Json>
Json parse_strict(std::string_view text, std::string_view where, std::size_t max_depth) {
  Guard<Json> guard(where, max_depth);
  try {
    return Json::parse(text.begin(), text.end(),
                       [&](int depth, typename Json::parse_event_t event, const Json& value) {
                         guard(depth, event, value);
                         return true;
                       });
  } catch (const nlohmann::json::exception& error) {
    throw base::UserError("not JSON (" + readable(error.what()) + ")", where,
                          "mend the text at that place");
  }
}

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, std::string_view where,
                                 std::size_t max_depth) {
  return parse_strict<nlohmann::json>(text, where, max_depth);
}

nlohmann::ordered_json parse_strict_ordered_json(std::string_view text, std::string_view where,
                                                 std::size_t max_depth) {
  return parse_strict<nlohmann::ordered_json>(text, where, max_depth);
}

}  // namespace physarum::text
