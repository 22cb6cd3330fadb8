#include "decoder.hpp"

#include <algorithm>
#include <cstring>

#include "physarum/base/contracts.hpp"

#include "cache_size.hpp"
#include "team_product.hpp"

namespace physarum::rollout {

namespace {
/// Rows that pass the feed-forward part together: few enough for its wide rows to stay in the
/// second cache, enough to make up for reading the weights.
constexpr std::int64_t feed_forward_rows = 96;
constexpr std::int64_t fewest_shared_rows = 8;

/// Adds a bias to each of some dense rows.
void add_bias(const model::AlignedBuffer& bias, std::int64_t rows, float* to) {
  for (std::int64_t row = 0; row < rows; ++row, to += bias.size()) {
    for (std::int64_t i = 0; i < bias.size(); ++i) to[i] += bias.data()[i];
  }
}
}  // namespace

Decoder::Decoder(const model::ModelConfig& config, std::int64_t context_tokens, int threads)
    : config_(config),
      shape_(cache_shape_of(config)),
      rope_(config),
      epsilon_(static_cast<float>(config.rms_norm_eps)),
      team_(threads),
      gate_up_(feed_forward_rows * 2 * config.intermediate_size),
      inner_(feed_forward_rows * config.intermediate_size),
      experts_(config),
      scratch_floats_(model::attention_scratch(shape_, context_tokens)),
      scratch_(threads * scratch_floats_) {
  rope_.reserve(context_tokens);
}

template <class Work>
void Decoder::share_rows(std::int64_t count, Work work) {
  // A few rows are not worth the way to the other threads.
  if (team_.size() == 1 || count < fewest_shared_rows) return work(0, count);
  team_.run([&](int part) {
    const auto rows = base::part_of(count, part, team_.size());
    if (rows.count > 0) work(rows.first, rows.count);
  });
}

void Decoder::norm(const float* x, const float* weight, std::int64_t count) {
  const auto hidden = config_.hidden_size;
  share_rows(count, [&](std::int64_t first, std::int64_t rows) {
    model::decode_kernels().rms_norm(x + first * hidden, weight, epsilon_, rows, hidden,
                                     normed_.data() + first * hidden);
  });
}

void Decoder::reserve(std::int64_t rows, std::int64_t logit_rows) {
  reserve_rows(rows);
  logits_.reserve(logit_rows * config_.vocab_size);
}

void Decoder::reserve_rows(std::int64_t count) {
  residual_.reserve(count * config_.hidden_size);
  normed_.reserve(count * config_.hidden_size);
  qkv_.reserve(count * config_.attention_width());
  attended_.reserve(count * config_.query_width());
}

void Decoder::embed(const EngineWeights& weights, std::span<const TokenRow> rows) {
  reserve_rows(std::ssize(rows));
  float* to = residual_.data();
  for (const auto& row : rows) {
    base::expects(row.position < rope_.positions(), "a position beyond the context");
    weights.embed(row.token, {to, static_cast<std::size_t>(config_.hidden_size)});
    to += config_.hidden_size;
  }
}

void Decoder::project(const LayerWeights& layer, std::int64_t count) {
  norm(residual_.data(), layer.input_norm.data(), count);
  multiply_together(team_, {normed_.data(), count, config_.hidden_size}, layer.query_key_value,
                    {qkv_.data(), config_.attention_width()}, model::Update::replace,
                    config_.query_key_value_bias ? layer.query_key_value_bias.data() : nullptr);
  if (!config_.query_key_norm) return;
  share_rows(count, [&](std::int64_t first, std::int64_t rows) { norm_heads(layer, first, rows); });
}

void Decoder::norm_heads(const LayerWeights& layer, std::int64_t first, std::int64_t count) {
  const auto& kernels = model::decode_kernels();
  const auto width = config_.head_dim;
  float* at = qkv_.data() + first * config_.attention_width();
  for (std::int64_t row = 0; row < count; ++row, at += config_.attention_width()) {
    float* keys = at + config_.query_width();
    kernels.rms_norm(at, layer.query_norm.data(), epsilon_, shape_.heads, width, at);
    kernels.rms_norm(keys, layer.key_norm.data(), epsilon_, shape_.key_value_heads, width, keys);
  }
}

/// The keys and values of many short sequences come from far away, and in pieces too small for the
/// processor to guess: ask for the next row's while this one is worked on. Of a long sequence the
/// beginning is enough, and more would only push out what is needed.
void Decoder::prefetch(const TokenRow& row, std::int64_t layer) const {
  constexpr std::int64_t most_blocks = 4;
  constexpr std::int64_t line = 64 / sizeof(float);
  const auto first = cache_row(row, layer).first_seen() / model::cache_block_tokens;
  const auto last = row.position / model::cache_block_tokens;
  for (auto b = first; b <= std::min(last, first + most_blocks - 1); ++b) {
    const float* at = row.blocks[b] + layer * shape_.layer_floats();
    for (std::int64_t i = 0; i < shape_.layer_floats(); i += line) __builtin_prefetch(at + i);
  }
}

void Decoder::store(const TokenRow& row, std::int64_t layer, std::int64_t from) {
  const auto half = config_.head_dim / 2;
  model::decode_kernels().store_token(
      shape_, cache_row(row, layer), rope_.cosines().data() + row.position * half,
      rope_.sines().data() + row.position * half, qkv_.data() + from * config_.attention_width());
}

void Decoder::store_all(std::span<const TokenRow> rows, std::int64_t layer) {
  share_rows(std::ssize(rows), [&](std::int64_t first, std::int64_t count) {
    for (auto row = first; row < first + count; ++row) {
      store(rows[static_cast<std::size_t>(row)], layer, row);
    }
  });
}

/// Neighbours of a prompt look together, as many as share what they load.
template <class RowAt>
void Decoder::plan_attention(std::span<const TokenRow> rows, std::int64_t count, RowAt row_at) {
  pieces_.clear();
  const auto at = [&](std::int64_t to) { return rows[static_cast<std::size_t>(row_at(to))]; };
  for (std::int64_t to = 0; to < count;) {
    const auto first = at(to);
    const auto most = model::attention_rows(shape_, first.position + model::most_attention_rows);
    std::int64_t end = to + 1;
    while (end < count && end - to < most && row_at(end) == row_at(to) + end - to &&
           at(end).blocks == first.blocks && at(end).position == first.position + end - to) {
      ++end;
    }
    pieces_.push_back({row_at(to), to, end - to});
    to = end;
  }
}

/// Few pieces do not come out even among the threads; their heads do better.
std::int64_t Decoder::shares_of_piece(std::int64_t pieces) const {
  const bool many = pieces % team_.size() == 0 || pieces > 4 * team_.size();
  return many ? 1 : shape_.key_value_heads;
}

/// Pieces are dealt out in turns: those of a prompt cost more and more.
template <class RowAt>
void Decoder::attend_rows(std::span<const TokenRow> rows, std::int64_t layer, std::int64_t count,
                          RowAt row_at) {
  plan_attention(rows, count, row_at);
  const auto shares = shares_of_piece(std::ssize(pieces_));
  const auto turns = std::ssize(pieces_) * shares;
  const auto heads = shape_.key_value_heads / shares;
  const auto piece_of = [&](std::int64_t turn) {
    return pieces_[static_cast<std::size_t>(turn / shares)];
  };
  const auto row_of = [&](std::int64_t turn) {
    return rows[static_cast<std::size_t>(piece_of(turn).from)];
  };
  const auto work = [&](int part, int parts) {
    float* scratch = scratch_.data() + part * scratch_floats_;
    for (std::int64_t turn = part; turn < turns; turn += parts) {
      if (shares == 1 && turn + parts < turns) prefetch(row_of(turn + parts), layer);
      const auto piece = piece_of(turn);
      model::decode_kernels().attend(
          shape_,
          {.first = cache_row(row_of(turn), layer),
           .count = piece.count,
           .queries = qkv_.data() + piece.from * config_.attention_width(),
           .query_stride = config_.attention_width(),
           .out = attended_.data() + piece.to * config_.query_width(),
           .out_stride = config_.query_width(),
           .first_group = turn % shares * heads,
           .groups = heads},
          scratch);
    }
  };
  // One short sequence is not worth the way to the other threads.
  constexpr std::int64_t short_tokens = 128;
  const bool alone = count == 1 && row_of(0).position < short_tokens;
  if (team_.size() == 1 || alone) return work(0, 1);
  team_.run([&](int part) { work(part, team_.size()); });
}

/// All rows are stored before the first one looks: what a row sees is its own sequence up to its
/// own position.
void Decoder::attend_all(std::span<const TokenRow> rows, std::int64_t layer) {
  store_all(rows, layer);
  attend_rows(rows, layer, std::ssize(rows), [](std::int64_t row) { return row; });
}

/// The last layer: all rows are stored, but only the wanted ones go on; they move to the front.
void Decoder::attend_wanted(std::span<const TokenRow> rows, std::span<const std::int64_t> wanted) {
  const auto layer = config_.num_hidden_layers - 1;
  store_all(rows, layer);
  attend_rows(rows, layer, std::ssize(wanted),
              [&](std::int64_t to) { return wanted[static_cast<std::size_t>(to)]; });
  keep(wanted);
}

void Decoder::add_attention(const LayerWeights& layer, std::int64_t count) {
  const auto hidden = config_.hidden_size;
  multiply_together(team_, {attended_.data(), count, config_.query_width()}, layer.output,
                    {residual_.data(), hidden}, model::Update::add);
  if (config_.output_bias) add_bias(layer.output_bias, count, residual_.data());
}

void Decoder::add_feed_forward(const LayerWeights& layer, std::int64_t count) {
  norm(residual_.data(), layer.attention_norm.data(), count);
  if (layer.has_experts())
    return experts_.add(team_, layer, count, normed_.data(), residual_.data());
  const auto hidden = config_.hidden_size;
  const auto inner = config_.intermediate_size;
  for (std::int64_t first = 0; first < count; first += feed_forward_rows) {
    const auto rows = std::min(feed_forward_rows, count - first);
    float* residual = residual_.data() + first * hidden;
    multiply_together(team_, {normed_.data() + first * hidden, rows, hidden}, layer.gate_up,
                      {gate_up_.data(), 2 * inner}, model::Update::replace,
                      config_.feed_forward_bias ? layer.gate_up_bias.data() : nullptr);
    share_rows(rows, [&](std::int64_t from, std::int64_t some) {
      model::decode_kernels().swiglu(gate_up_.data() + from * 2 * inner, some, inner,
                                     inner_.data() + from * inner);
    });
    multiply_together(team_, {inner_.data(), rows, inner}, layer.down, {residual, hidden},
                      model::Update::add);
    if (config_.feed_forward_bias) add_bias(layer.down_bias, rows, residual);
  }
}

void Decoder::keep(std::span<const std::int64_t> wanted) {
  const auto hidden = config_.hidden_size;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::memmove(residual_.data() + static_cast<std::int64_t>(i) * hidden,
                 residual_.data() + wanted[i] * hidden,
                 static_cast<std::size_t>(hidden) * sizeof(float));
  }
}

void Decoder::forward(const EngineWeights& weights, std::span<const TokenRow> rows,
                      std::span<const std::int64_t> wanted) {
  const auto count = static_cast<std::int64_t>(rows.size());
  embed(weights, rows);
  const auto last = config_.num_hidden_layers - 1;
  for (std::int64_t l = 0; l < last; ++l) {
    const auto& layer = weights.layer(l);
    project(layer, count);
    attend_all(rows, l);
    add_attention(layer, count);
    add_feed_forward(layer, count);
  }
  const auto& layer = weights.layer(last);
  const auto kept = static_cast<std::int64_t>(wanted.size());
  project(layer, count);
  attend_wanted(rows, wanted);
  add_attention(layer, kept);
  add_feed_forward(layer, kept);
}

const float* Decoder::logits(const EngineWeights& weights, std::int64_t first, std::int64_t count) {
  const auto hidden = config_.hidden_size;
  logits_.reserve(count * config_.vocab_size);
  norm(residual_.data() + first * hidden, weights.final_norm(), count);
  multiply_together(team_, {normed_.data(), count, hidden}, weights.head(),
                    {logits_.data(), config_.vocab_size});
  return logits_.data();
}

}  // namespace physarum::rollout
