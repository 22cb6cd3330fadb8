#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/base/error.hpp"

namespace physarum::base {

/// One flag: `--name` on the command line, the same with underscores in the TOML table `topic`.
struct Option {
  std::string name;   ///< without dashes in front: "rollout-batch-size"
  std::string topic;  ///< TOML table and heading in the docs: "rollout"
  std::string type;   ///< "integer", "number", "text", "switch", "list ..."; shown in help and docs
  std::string help;   ///< one sentence
  std::string default_text;
  std::vector<std::string> choices;  ///< empty: anything that parses
  /// Parses and stores; throws UserError with `where` as the place ("--lr", "run.toml:12").
  std::function<void(std::string_view value, std::string_view where)> set;
  std::function<std::string()> get;  ///< the resolved value as text
  [[nodiscard]] bool is_switch() const { return type == "switch"; }
  [[nodiscard]] bool is_text_list() const { return type == "text or array of texts"; }
  [[nodiscard]] std::string key() const;  ///< name with underscores
};

/// Bounds of a number, both inclusive.
template <class T>
struct Range {
  T low;
  T high;
};

/// Every flag of the program, declared once by the room that it belongs to: the command line, the
/// TOML reader, `check`, `--help` and docs/configuration.md all come from this table.
class OptionTable {
 public:
  /// The heading for the declarations that follow.
  void topic(std::string name) { topic_ = std::move(name); }

  void add(std::string name, std::int64_t& field, std::string help, Range<std::int64_t> range);
  void add(std::string name, std::optional<std::int64_t>& field, std::string help,
           Range<std::int64_t> range);
  void add(std::string name, double& field, std::string help, Range<double> range);
  void add(std::string name, std::optional<double>& field, std::string help, Range<double> range);
  void add(std::string name, std::string& field, std::string help,
           std::vector<std::string> choices = {});
  void add_switch(std::string name, bool& field, std::string help);
  void add_list(std::string name, std::vector<std::int64_t>& field, std::string help);
  void add_list(std::string name, std::vector<std::string>& field, std::string help);
  /// Texts that may hold anything, commas, blanks and line breaks too: on the command line one text
  /// as it stands or a TOML array, `["\\n\\n", "Q:"]`; in a TOML file a text or an array.
  void add_texts(std::string name, std::vector<std::string>& field, std::string help);
  /// Enumerations: texts[i] stands for the enumerator with value i.
  template <class E>
  requires std::is_enum_v<E>
  void add_choice(std::string name, E& field, std::string help, std::vector<std::string> texts) {
    add_choice_impl(
        std::move(name), std::move(help), std::move(texts),
        [&field](std::size_t index) { field = static_cast<E>(index); },
        [&field] { return static_cast<std::size_t>(field); });
  }

  [[nodiscard]] const std::vector<Option>& options() const { return options_; }
  [[nodiscard]] Option* find(std::string_view name);
  /// The declared name nearest to a mistyped one (edit distance), if any is near.
  [[nodiscard]] std::optional<std::string> nearest(std::string_view name) const;
  /// The resolved configuration as TOML text; what `check` prints and every output stores.
  [[nodiscard]] std::string to_toml() const;

 private:
  void declare(Option option);
  /// One body for the four overloads; Field is T or optional<T>.
  template <class Field, class T>
  void add_number(std::string name, Field& field, std::string help, Range<T> range);
  void add_choice_impl(std::string name, std::string help, std::vector<std::string> texts,
                       std::function<void(std::size_t)> set, std::function<std::size_t()> get);
  std::string topic_ = "run";
  std::vector<Option> options_;
};

/// The word of `words` nearest to `word` with at most a third of its letters wrong.
[[nodiscard]] std::optional<std::string> nearest_word(std::string_view word,
                                                      const std::vector<std::string>& words);

/// Reads a TOML file into the table. Unknown tables or keys are errors that name the nearest.
/// Throws UserError with file:line.
void read_toml(const std::string& path, OptionTable& table);
/// The same for text; `path` is the place in messages.
void read_toml_text(std::string_view text, const std::string& path, OptionTable& table);

/// Reads `--name value`, `--name=value` and switches (`--name`, `--no-name`); returns what is left
/// (positional arguments). Throws UserError.
[[nodiscard]] std::vector<std::string> read_arguments(const std::vector<std::string>& arguments,
                                                      OptionTable& table);

}  // namespace physarum::base
