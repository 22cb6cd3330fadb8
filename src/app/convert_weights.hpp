#pragma once

#include <filesystem>

#include "physarum/app/convert_options.hpp"

namespace physarum::app {

// Each writes a new Hugging Face directory `to` and says on stdout what is in it. This rank alone.
// They throw UserError if `to` exists or `from` is not what it should be.

/// A Hugging Face directory's weights in another element type or other shards, with its tokenizer
/// files.
void convert_hf(const std::filesystem::path& from, const std::filesystem::path& to,
                const ConvertOptions& options);

/// A GGUF file with its tokenizer and chat template.
void convert_gguf(const std::filesystem::path& from, const std::filesystem::path& to,
                  const ConvertOptions& options);

/// A checkpoint's weights, with the tokenizer files of the run if they are still there.
void convert_checkpoint(const std::filesystem::path& from, const std::filesystem::path& to,
                        const ConvertOptions& options);

/// Throws UserError if there is something of that name.
void refuse_existing(const std::filesystem::path& target);

}  // namespace physarum::app
