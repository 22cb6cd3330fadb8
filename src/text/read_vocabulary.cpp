#include <algorithm>
#include <unordered_set>

#include "byte_level.hpp"
#include "read_tokenizer.hpp"

namespace physarum::text {

namespace {

/// The names by id as they come, from two lists that must agree.
class NameTable {
 public:
  NameTable(const JsonField& model, const TokenizerLimits& limits)
      : vocabulary_(model.at("vocab")), limits_(limits) {
    if (!vocabulary_.value().is_object()) {
      vocabulary_.refuse("must be an object of names and ids", "export the tokenizer again");
    }
    using Object = nlohmann::json::object_t;
    const auto& entries = vocabulary_.value().get_ref<const Object&>();
    names_.reserve(std::min(entries.size(), limits.tokens));
    for (const auto& [name, id] : entries) add_vocabulary(name, id);
  }

  /// True if the vocabulary does not have the token.
  bool add_added(const JsonField& field, const AddedToken& token) {
    const auto known = vocabulary_.value().find(token.content);
    if (known != vocabulary_.value().end() && *known != token.id) {
      field.refuse("gives '" + token.content + "' the id " + std::to_string(token.id) +
                       ", model.vocab gives it " + known->dump(),
                   "use one id");
    }
    if (!added_.insert(token.content).second) {
      field.refuse("names '" + token.content + "' again", "remove one of the two");
    }
    if (known != vocabulary_.value().end()) return false;
    if (const std::string* owner = name_at(token.id)) {
      field.refuse("uses the id " + std::to_string(token.id) + " of '" + *owner + "' again",
                   "give each token an id of its own");
    }
    set(token.id, token.content);
    return true;
  }

  /// All names, once it is sure that each id below the count is taken.
  [[nodiscard]] std::vector<const std::string*> finish() const {
    const auto hole = std::find(names_.begin(), names_.end(), nullptr);
    if (names_.empty() || hole != names_.end()) {
      vocabulary_.refuse("has no token with id " + std::to_string(hole - names_.begin()) +
                             ", ids must go from 0 up without holes",
                         "add the missing token to added_tokens");
    }
    return names_;
  }

 private:
  void add_vocabulary(const std::string& name, const nlohmann::json& id) {
    const auto refuse = [&](const std::string& what, const char* mend) {
      vocabulary_.refuse("gives '" + name.substr(0, 64) + "' " + what, mend);
    };
    if (!id.is_number_integer() || id < 0 || id >= limits_.tokens) {
      refuse("an id that is no integer from 0 to " + std::to_string(limits_.tokens - 1),
             "number tokens from 0");
    }
    if (name.empty() || name.size() > limits_.token_bytes) {
      refuse("which has not 1 to " + std::to_string(limits_.token_bytes) + " bytes, an id",
             "remove this token");
    }
    const auto value = id.get<base::TokenId>();
    if (const std::string* owner = name_at(value)) {
      refuse("the id " + std::to_string(value) + " of '" + owner->substr(0, 64) + "' again",
             "give each token an id of its own");
    }
    set(value, name);
  }

  [[nodiscard]] const std::string* name_at(base::TokenId id) const {
    const auto index = static_cast<std::size_t>(id);
    return index < names_.size() ? names_[index] : nullptr;
  }
  void set(base::TokenId id, const std::string& name) {
    const auto index = static_cast<std::size_t>(id);
    if (index >= names_.size()) names_.resize(index + 1, nullptr);
    names_[index] = &name;
  }

  JsonField vocabulary_;
  const TokenizerLimits& limits_;
  std::vector<const std::string*> names_;
  std::unordered_set<std::string_view> added_;
};

void set_byte_tokens(TokenizerModel& model) {
  for (std::size_t byte = 0; byte < model.byte_tokens.size(); ++byte) {
    const char character = static_cast<char>(byte);
    const auto id = model.made_by_merging.find(model.tokens, std::string_view(&character, 1));
    model.byte_tokens[byte] = id.value_or(-1);
  }
}

}  // namespace

void read_vocabulary(const JsonField& field, const std::vector<AddedTokenEntry>& added,
                     const TokenizerLimits& limits, TokenizerModel& model) {
  NameTable table(field, limits);
  std::unordered_set<base::TokenId> only_added;
  for (const AddedTokenEntry& entry : added) {
    if (table.add_added(entry.field, entry.token)) only_added.insert(entry.token.id);
  }
  const auto names = table.finish();

  model.tokens.resize(names.size());
  model.made_by_merging = TokenIndex(names.size());
  for (std::size_t index = 0; index < names.size(); ++index) {
    const auto id = static_cast<base::TokenId>(index);
    const auto bytes = from_byte_level(*names[index]);
    // Merging can only make what the vocabulary writes in the byte alphabet.
    if (bytes && only_added.count(id) == 0) {
      model.tokens[index] = *bytes;
      model.made_by_merging.add(model.tokens, id);
    } else {
      model.tokens[index] = *names[index];
    }
  }
  set_byte_tokens(model);
}

}  // namespace physarum::text
