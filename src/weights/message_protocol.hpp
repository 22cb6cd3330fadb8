#pragma once

#include <cstddef>
#include <cstdint>

namespace physarum::weights {

// How an engine reads the store by messages. It asks a buffer rank for ranges of its memory; the
// answers, cut into pieces, come in the order of its requests, and the engine has posted receives
// for them before it asks. A refusal has a tag of its own and ends the traffic of the two.

enum MessageTag : int { tag_request = 1, tag_data = 2, tag_refusal = 3 };

struct WeightRequest {
  enum Kind : std::uint64_t {
    get = 1,        ///< answer: `bytes` bytes from `offset` on
    want_full = 2,  ///< sets the word `wanted`; answer: that word
  };
  std::uint64_t kind = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct WeightRefusal {
  enum Reason : std::uint64_t {
    malformed = 1,  ///< no request, or of an unknown kind
    outside = 2,    ///< a range that does not lie in the memory
    too_many = 3,   ///< more unanswered requests than an engine may have
    silent = 4,     ///< the engine took nothing of what it asked for, for too long
  };
  std::uint64_t reason = 0;
  WeightRequest request;
};

/// The same on all ranks.
struct MessageLimits {
  std::size_t piece_bytes = std::size_t{1} << 20;
  /// Of answers that one engine has not taken yet; at least one piece is always sent.
  std::size_t credit_bytes = std::size_t{16} << 20;
  std::size_t most_requests = 64;  ///< unanswered ones of an engine at one buffer rank
  /// After so long without taking anything of what it asked for an engine is dropped.
  double silence_s = 120;
  double patience_s = 600;  ///< an engine's, for a single word
};

}  // namespace physarum::weights
