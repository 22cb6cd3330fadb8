#include "top_tokens.hpp"

#include <algorithm>
#include <cmath>

#include "physarum/sample/top_log_probs.hpp"

namespace physarum::rollout {

namespace {
/// The first of a heap of the likeliest so far is the one that the next likelier one replaces.
void keep_likeliest(std::vector<base::TokenId>& kept, std::size_t most, base::TokenId id,
                    const auto& likelier) {
  if (kept.size() < most) {
    kept.push_back(id);
    std::push_heap(kept.begin(), kept.end(), likelier);
  } else if (likelier(id, kept.front())) {
    std::pop_heap(kept.begin(), kept.end(), likelier);
    kept.back() = id;
    std::push_heap(kept.begin(), kept.end(), likelier);
  }
}
}  // namespace

void TopTokens::find(const Distribution& of, std::int64_t count) {
  const auto most = static_cast<std::size_t>(count);
  const auto likelier = [logits = of.logits](base::TokenId a, base::TokenId b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  ids_.clear();
  const auto look_at = [&](base::TokenId id) {
    if (std::isfinite(of.logits[id])) keep_likeliest(ids_, most, id, likelier);
  };
  if (of.nucleus.empty()) {
    for (std::int64_t id = 0; id < of.vocab_size; ++id) look_at(static_cast<base::TokenId>(id));
  } else {
    for (const auto id : of.nucleus) look_at(id);
  }
  std::sort_heap(ids_.begin(), ids_.end(), likelier);
  log_probs_.clear();
  for (const auto id : ids_)
    log_probs_.push_back(model::log_prob_of(of.logits[id], of.scale, of.sums));
  ids_.resize(most, sample::no_alternative);
  log_probs_.resize(most, sample::no_log_prob);
}

}  // namespace physarum::rollout
