#pragma once

#include <filesystem>

#include "setup.hpp"

namespace physarum::app {

/// The samples of a file as JSON lines beside it, under the same name with .jsonl: one object a
/// sample, with the prompt that it answers; docs/formats/samples.md. One rank calls it when the
/// file is complete. Throws WorldError.
void write_samples_jsonl(const std::filesystem::path& file, const Setup& setup);

}  // namespace physarum::app
