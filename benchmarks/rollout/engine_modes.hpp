#pragma once

#include "engine_setup.hpp"

// Each mode measures one thing and prints a JSON object a line.
namespace physarum::rollout {

/// Decoding alone: as many sequences as options.parallel starts with read their prompts in one
/// step; then options.tokens steps are timed with all of them, as many with the next number, and so
/// on: sequences end where the number falls.
void measure_decode(const FigureOptions& options);
/// From prompts to complete answers, as a caller sees it.
void measure_batch(const FigureOptions& options);
/// One prompt at a time, up to its first token.
void measure_prefill(const FigureOptions& options);
/// Eight answers of two tokens to one prompt against one such answer.
void measure_shared(const FigureOptions& options);
/// The second turn of a conversation of options.context tokens, up to its first token, against what
/// reading its new tokens costs behind the others: the time of the whole without reuse less that of
/// the first part.
void measure_turn(const FigureOptions& options);
/// Changes of options.repeats weight versions while options.parallel sequences are decoded: the
/// pause for each against a decode step.
void measure_swap(const FigureOptions& options);
/// Many short requests, 500 of them waiting: memory at the end against after the first tenth, and
/// its peak against weights and cache budget.
void measure_soak(const FigureOptions& options);

}  // namespace physarum::rollout
