#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "physarum/base/handle.hpp"

#include "word_pattern.hpp"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_jit_stack_8;

namespace physarum::text {

struct RegexCodeTraits {
  using value_type = pcre2_real_code_8*;
  static value_type null() { return nullptr; }
  static constexpr auto kind = base::ReleaseKind::local;
  static constexpr const char* name = "regular expression";
  static bool alive() noexcept { return true; }
  static void release(value_type value);
};
struct MatchDataTraits {
  using value_type = pcre2_real_match_data_8*;
  static value_type null() { return nullptr; }
  static constexpr auto kind = base::ReleaseKind::local;
  static constexpr const char* name = "match data";
  static bool alive() noexcept { return true; }
  static void release(value_type value);
};
struct MatchContextTraits {
  using value_type = pcre2_real_match_context_8*;
  static value_type null() { return nullptr; }
  static constexpr auto kind = base::ReleaseKind::local;
  static constexpr const char* name = "match context";
  static bool alive() noexcept { return true; }
  static void release(value_type value);
};
struct JitStackTraits {
  using value_type = pcre2_real_jit_stack_8*;
  static value_type null() { return nullptr; }
  static constexpr auto kind = base::ReleaseKind::local;
  static constexpr const char* name = "match stack";
  static bool alive() noexcept { return true; }
  static void release(value_type value);
};

/// The memory of a search, and how long searches may take. One thread at a time.
class RegexScratch {
 public:
  RegexScratch();

  /// From here on all searches together may take the steps that patterns in use need many times
  /// over on a text of this length, and no more: patterns come from strangers.
  void grant_steps(std::size_t text_bytes);

 private:
  friend class Regex;
  base::Handle<JitStackTraits> stack_;  // outlives the context, which points to it
  base::Handle<MatchContextTraits> context_;
  base::Handle<MatchDataTraits> data_;
  std::uint64_t steps_left_ = 0;
};

/// A pattern with Unicode properties, compiled to machine code where PCRE2 can. Any thread, with a
/// scratch of its own.
class Regex {
 public:
  /// `pattern` as tokenizer files write it, for Oniguruma. Throws UserError with `where`.
  Regex(std::string_view pattern, std::string_view where);

  /// The first match at or after byte `from`. `text` must be valid UTF-8 and `from` the beginning
  /// of a character. Throws UserError if the pattern needs more steps than are left.
  [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from,
                                          RegexScratch& scratch) const;

 private:
  [[nodiscard]] int match(std::string_view text, std::size_t from, RegexScratch& scratch) const;
  /// Searches with more and more steps until they suffice or none are left.
  [[nodiscard]] int match_longer(std::string_view text, std::size_t from,
                                 RegexScratch& scratch) const;
  base::Handle<RegexCodeTraits> code_;
  bool has_machine_code_ = false;
  std::string where_;
};

}  // namespace physarum::text
