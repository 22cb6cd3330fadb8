#pragma once

#include <string>

#include "physarum/storage/checkpoint.hpp"

#include "physarum/sample/prompt.hpp"

#include "setup.hpp"

namespace physarum::app {

/// Writes what a checkpoint says of the run itself: its id, seed, configuration, model and prompts.
void write_run_facts(storage::File& file, const Setup& setup);

/// Tells prompts apart: their number, and a hash of all of them, or of many if there are many.
[[nodiscard]] std::string prompt_fingerprint(const sample::PromptSource& prompts);

[[nodiscard]] bool holds_optimiser(const storage::CheckpointReader& checkpoint);

}  // namespace physarum::app
