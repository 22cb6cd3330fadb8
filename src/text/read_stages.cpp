#include <cctype>

#include "read_tokenizer.hpp"

namespace physarum::text {

namespace {

/// Reads a pre-tokenizer into stages. ByteLevel ends the row: behind it text is no longer text.
class StageReader {
 public:
  explicit StageReader(const TokenizerLimits& limits) : limits_(limits) {}

  void read(const JsonField& field) {
    if (byte_level_) field.refuse("stands behind ByteLevel", "put ByteLevel last");
    const std::string& type = field.at("type").text();
    if (type == "Sequence") return read_sequence(field);
    if (type == "Split") return read_split(field);
    if (type == "Digits") return read_digits(field);
    if (type == "ByteLevel") return read_byte_level(field);
    field.refuse_unsupported(type, "Sequence, Split, Digits, ByteLevel");
  }

  std::vector<Stage> take(const JsonField& field) {
    if (!byte_level_) field.refuse("has no ByteLevel", "use a byte-level tokenizer");
    return std::move(stages_);
  }

 private:
  void add(const JsonField& field, Stage stage) {
    if (stages_.size() == limits_.stages) {
      field.refuse("is one stage too many, " + std::to_string(limits_.stages) + " are allowed",
                   "use fewer");
    }
    stages_.push_back(std::move(stage));
  }

  void read_sequence(const JsonField& field) {
    field.expect_keys({"type", "pretokenizers"});
    const JsonField list = field.at("pretokenizers");
    for (std::size_t i = 0; i < list.items(limits_.stages); ++i) read(list.item(i));
  }

  void read_split(const JsonField& field) {
    field.expect_keys({"type", "pattern", "behavior", "invert"});
    const JsonField behavior = field.at("behavior");
    add(field, SplitStage{read_pattern(field.at("pattern")), read_behavior(behavior),
                          field.flag_or("invert", false)});
  }

  std::variant<Regex, WordPattern> read_pattern(const JsonField& field) {
    field.expect_keys({"Regex", "String"});
    const auto regex = field.find("Regex");
    const JsonField text = regex ? *regex : field.at("String");
    if (text.text().empty() || text.text().size() > limits_.pattern_bytes) {
      text.refuse("must have 1 to " + std::to_string(limits_.pattern_bytes) + " bytes",
                  "use a shorter pattern");
    }
    return make_pattern(regex ? text.text() : escape(text.text()), text.place());
  }

  static std::string escape(const std::string& literal) {
    std::string pattern;
    for (const char c : literal) {
      if (std::ispunct(static_cast<unsigned char>(c)) != 0) pattern.push_back('\\');
      pattern.push_back(c);
    }
    return pattern;
  }

  static SplitBehavior read_behavior(const JsonField& field) {
    const std::string& name = field.text();
    if (name == "Removed") return SplitBehavior::removed;
    if (name == "Isolated") return SplitBehavior::isolated;
    if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
    if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
    if (name == "Contiguous") return SplitBehavior::contiguous;
    field.refuse_unsupported(name,
                             "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
  }

  void read_digits(const JsonField& field) {
    field.expect_keys({"type", "individual_digits"});
    const bool each = field.flag_or("individual_digits", false);
    add(field, SplitStage{each ? WordPattern::number : WordPattern::numbers,
                          SplitBehavior::isolated, false});
  }

  void read_byte_level(const JsonField& field) {
    field.expect_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    if (field.flag_or("add_prefix_space", true)) add(field, SpaceStage{});
    if (field.flag_or("use_regex", true)) {
      add(field, SplitStage{WordPattern::gpt2, SplitBehavior::isolated, false});
    }
    byte_level_ = true;
  }

  const TokenizerLimits& limits_;
  std::vector<Stage> stages_;
  bool byte_level_ = false;
};

}  // namespace

std::vector<Stage> read_stages(const JsonField& pre_tokenizer, const TokenizerLimits& limits) {
  StageReader reader(limits);
  reader.read(pre_tokenizer);
  return reader.take(pre_tokenizer);
}

}  // namespace physarum::text
