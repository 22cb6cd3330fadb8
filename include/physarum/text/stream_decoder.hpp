#pragma once

#include <string>

#include "physarum/base/ids.hpp"

#include "physarum/text/tokenizer.hpp"

namespace physarum::text {

/// Decodes tokens one at a time. A character that tokens cut into pieces is held back until it is
/// whole, so each answer is valid UTF-8; all answers together are `Tokenizer::decode` of all ids.
/// One thread at a time.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, DecodeSpecial special = DecodeSpecial::skip)
      : tokenizer_(tokenizer), special_(special) {}

  /// The text that became certain with this token; often one token's, sometimes nothing.
  [[nodiscard]] std::string push(base::TokenId id);
  /// What was held back, as U+FFFD; the decoder is as new afterwards.
  [[nodiscard]] std::string finish();

 private:
  Tokenizer tokenizer_;
  DecodeSpecial special_;
  std::string held_;
};

}  // namespace physarum::text
