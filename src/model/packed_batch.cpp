#include "physarum/model/packed_batch.hpp"

#include <algorithm>

#include "physarum/base/contracts.hpp"

namespace physarum::model {

void PackedBatch::append(std::span<const base::TokenId> sequence, std::int64_t first_target) {
  base::expects(first_target >= 1, "the first token of a sequence has no log-probability");
  const auto start = n_tokens();
  tokens.insert(tokens.end(), sequence.begin(), sequence.end());
  sequence_starts.push_back(n_tokens());
  for (auto target = start + first_target; target < n_tokens(); ++target) {
    targets.push_back(target);
  }
}

namespace {
void check_nuclei(const PackedBatch& batch, const ModelConfig& config) {
  const auto& nuclei = batch.nuclei;
  base::expects(nuclei.fits_together() && nuclei.size() <= batch.n_targets(),
                "there are no more nuclei than targets");
  for (std::int64_t i = 0; i < nuclei.size(); ++i) {
    const auto target = static_cast<std::size_t>(batch.targets[static_cast<std::size_t>(i)]);
    const char* fault = base::set_fault(nuclei.at(i), batch.tokens[target]);
    base::expects(fault == nullptr, fault);
    base::expects(nuclei.at(i).empty() || nuclei.at(i).back() < config.vocab_size,
                  "a nucleus has an id outside the vocabulary");
  }
}
}  // namespace

void PackedBatch::check(const ModelConfig& config) const {
  base::expects(!sequence_starts.empty() && sequence_starts.front() == 0 &&
                    sequence_starts.back() == n_tokens(),
                "sequence_starts must run from 0 to the number of tokens");
  for (std::size_t s = 1; s < sequence_starts.size(); ++s) {
    const auto length = sequence_starts[s] - sequence_starts[s - 1];
    base::expects(length >= 1, "a packed sequence must have a token");
    base::expects(length <= config.max_position_embeddings,
                  "a sequence is longer than the model's positions");
  }
  base::expects(
      std::ranges::all_of(tokens, [&](auto id) { return id >= 0 && id < config.vocab_size; }),
      "a token id is outside the vocabulary");
  auto start = sequence_starts.begin();
  std::int64_t previous = -1;
  for (const auto target : targets) {
    base::expects(target > previous && target < n_tokens(), "targets must rise within the batch");
    while (start != sequence_starts.end() && *start < target) ++start;
    base::expects(*start != target, "the first token of a sequence has no log-probability");
    previous = target;
  }
  check_nuclei(*this, config);
}

}  // namespace physarum::model
