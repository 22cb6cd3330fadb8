#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "physarum/text/tokenizer.hpp"

#include "regex.hpp"
#include "word_pattern.hpp"

// The tokenizer is the built-in one, or that of the environment variable PHYSARUM_TOKENIZER; the
// text is the program's own sources. One thread.
namespace physarum::text {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::filesystem::path tokenizer_path() {
  const char* chosen = std::getenv("PHYSARUM_TOKENIZER");
  return chosen != nullptr ? std::filesystem::path(chosen)
                           : std::filesystem::path(PHYSARUM_INPUTS) / "model-small/tokenizer.json";
}

const std::string& sources() {
  static const std::string text = [] {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(PHYSARUM_SOURCES)) {
      if (entry.path().extension() == ".cpp") all += read_file(entry.path());
    }
    return all;
  }();
  return text;
}

void report_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void load(benchmark::State& state) {
  const std::string json = read_file(tokenizer_path());
  for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::from_json(json, "", "benchmark"));
  report_bytes(state, json.size());
}

/// `seen` texts are those whose words were met before, `new` ones those of a fresh tokenizer.
void encode_seen(benchmark::State& state) {
  const Tokenizer tokenizer = Tokenizer::from_file(tokenizer_path());
  for (auto _ : state) {
    benchmark::DoNotOptimize(tokenizer.encode(sources(), SpecialTokens::literal));
  }
  report_bytes(state, sources().size());
}

void encode_new(benchmark::State& state) {
  const Tokenizer tokenizer = Tokenizer::from_file(tokenizer_path());
  for (auto _ : state) {
    const Tokenizer fresh = tokenizer;
    benchmark::DoNotOptimize(fresh.encode(sources(), SpecialTokens::literal));
  }
  report_bytes(state, sources().size());
}

/// A word of that many letters that no memory of words keeps: merging alone.
void encode_long_word(benchmark::State& state) {
  const Tokenizer tokenizer = Tokenizer::from_file(tokenizer_path());
  std::string word;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    word.push_back(static_cast<char>('a' + i * i % 26));
  }
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.encode(word, SpecialTokens::literal));
  report_bytes(state, word.size());
}

void decode(benchmark::State& state) {
  const Tokenizer tokenizer = Tokenizer::from_file(tokenizer_path());
  const auto ids = tokenizer.encode(sources(), SpecialTokens::literal);
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.decode(ids));
  report_bytes(state, sources().size());
}

template <class Find>
void split_with(benchmark::State& state, Find find) {
  const std::string& text = sources();
  for (auto _ : state) {
    for (std::size_t from = 0; from < text.size();) {
      const auto match = find(text, from);
      if (!match) break;
      from = match->end;
    }
  }
  report_bytes(state, text.size());
}

void split_by_hand(benchmark::State& state) {
  const auto pattern = static_cast<WordPattern>(state.range(0));
  split_with(state, [&](const std::string& text, std::size_t from) {
    return find_word(pattern, text, from);
  });
}

void split_by_search(benchmark::State& state) {
  const Regex regex(pattern_text(static_cast<WordPattern>(state.range(0))), "benchmark");
  RegexScratch scratch;
  split_with(state, [&](const std::string& text, std::size_t from) {
    return regex.find(text, from, scratch);
  });
}

BENCHMARK(load)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_seen)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_new)->Unit(benchmark::kMillisecond);
BENCHMARK(encode_long_word)->RangeMultiplier(8)->Range(64, 1 << 18);
BENCHMARK(decode)->Unit(benchmark::kMillisecond);
BENCHMARK(split_by_hand)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);
BENCHMARK(split_by_search)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace physarum::text
