#include "regex.hpp"

#include "pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <algorithm>
#include <array>
#include <new>

#include <pcre2.h>

#include "physarum/base/error.hpp"

namespace physarum::text {

namespace {

/// Steps of one search that are not counted: the patterns in use need a few per match.
constexpr std::uint32_t free_steps = 4096;
/// Steps beyond them that all searches in one text may take.
constexpr std::uint64_t granted_steps = 20'000'000;
constexpr std::uint64_t granted_steps_per_byte = 16;
constexpr std::uint32_t heap_kibibytes = 64 << 10;
constexpr std::size_t stack_bytes_first = std::size_t{64} << 10;
constexpr std::size_t stack_bytes_last = std::size_t{8} << 20;

std::string error_text(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

template <class T>
T* made(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

}  // namespace

void RegexCodeTraits::release(value_type value) { pcre2_code_free(value); }
void MatchDataTraits::release(value_type value) { pcre2_match_data_free(value); }
void MatchContextTraits::release(value_type value) { pcre2_match_context_free(value); }
void JitStackTraits::release(value_type value) { pcre2_jit_stack_free(value); }

RegexScratch::RegexScratch()
    // Without machine code there is no such stack, and none is needed.
    : stack_(pcre2_jit_stack_create(stack_bytes_first, stack_bytes_last, nullptr)),
      context_(made(pcre2_match_context_create(nullptr))),
      data_(made(pcre2_match_data_create(1, nullptr))) {
  pcre2_set_match_limit(context_.get(), free_steps);
  pcre2_set_heap_limit(context_.get(), heap_kibibytes);
  if (stack_) pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
  grant_steps(0);
}

void RegexScratch::grant_steps(std::size_t text_bytes) {
  steps_left_ = granted_steps + granted_steps_per_byte * text_bytes;
}

Regex::Regex(std::string_view pattern, std::string_view where) : where_(where) {
  const std::string translated = to_pcre2(pattern, where);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_ = base::Handle<RegexCodeTraits>(pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr));
  if (!code_) {
    throw base::UserError("the pattern does not compile (" + error_text(error) + ")", where_,
                          "write it in the syntax that PCRE2 and Oniguruma share");
  }
  // A machine without a code generator interprets the pattern: slower, same matches.
  has_machine_code_ = pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE) == 0;
}

int Regex::match(std::string_view text, std::size_t from, RegexScratch& scratch) const {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  if (has_machine_code_) {
    return pcre2_jit_match(code_.get(), subject, text.size(), from, 0, scratch.data_.get(),
                           scratch.context_.get());
  }
  return pcre2_match(code_.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK,
                     scratch.data_.get(), scratch.context_.get());
}

int Regex::match_longer(std::string_view text, std::size_t from, RegexScratch& scratch) const {
  int found = PCRE2_ERROR_MATCHLIMIT;
  for (std::uint64_t limit = free_steps;
       found == PCRE2_ERROR_MATCHLIMIT && scratch.steps_left_ > 0;) {
    limit = std::min({16 * limit, scratch.steps_left_, std::uint64_t{UINT32_MAX}});
    pcre2_set_match_limit(scratch.context_.get(), static_cast<std::uint32_t>(limit));
    scratch.steps_left_ -= limit;
    found = match(text, from, scratch);
  }
  pcre2_set_match_limit(scratch.context_.get(), free_steps);
  return found;
}

std::optional<Match> Regex::find(std::string_view text, std::size_t from,
                                 RegexScratch& scratch) const {
  int found = match(text, from, scratch);
  if (found == PCRE2_ERROR_MATCHLIMIT) found = match_longer(text, from, scratch);
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0) {
    throw base::UserError("the pattern gave up on a text of " + std::to_string(text.size()) +
                              " bytes (" + error_text(found) + ")",
                          where_, "shorten the text or simplify the pattern");
  }
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(scratch.data_.get());
  // \K can move the beginning behind the end; no tokenizer needs that.
  if (bounds[0] < from || bounds[1] < bounds[0]) {
    throw base::UserError("the pattern moves the beginning of its match", where_, "remove \\K");
  }
  return Match{bounds[0], bounds[1]};
}

}  // namespace physarum::text
