// Runs a fuzz target without a fuzzer: first every file of the corpus, then inputs made from them
// by seeded mutations, so that a run is the same every time.
//
//   fuzz_<name> CORPUS [MUTATIONS [SEED]]
//
// The target is the usual one, so a fuzzer that knows it can be linked in place of this file. An
// input that brings the target down is left in fuzz_<name>.input in the working directory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t max_bytes = std::size_t{1} << 20;

class Mutator {
 public:
  Mutator(const std::vector<Bytes>& corpus, std::uint64_t seed) : corpus_(&corpus), random_(seed) {}

  Bytes next() {
    Bytes bytes = any();
    const std::size_t edits = std::size_t{1} << below(5);
    for (std::size_t i = 0; i < edits; ++i) edit(bytes);
    if (bytes.size() > max_bytes) bytes.resize(max_bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
  const Bytes& any() { return (*corpus_)[below(corpus_->size())]; }
  /// A piece's place and length; short pieces are likelier.
  std::pair<std::size_t, std::size_t> piece(const Bytes& bytes) {
    const std::size_t at = below(bytes.size() + 1);
    const std::size_t longest = std::size_t{1} << below(12);
    return {at, std::min(bytes.size() - at, below(longest) + 1)};
  }

  void edit(Bytes& bytes) {
    if (bytes.empty()) return bytes.push_back(static_cast<std::uint8_t>(random_()));
    const auto place = [&](std::size_t at) {
      return bytes.begin() + static_cast<std::ptrdiff_t>(at);
    };
    switch (below(7)) {
      case 0:
        bytes[below(bytes.size())] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:
        bytes[below(bytes.size())] = static_cast<std::uint8_t>(random_());
        break;
      case 2: {  // numbers that arithmetic trips over
        static constexpr std::uint64_t hard[] = {
            0, 1, 0x7f, 0x80, 0xff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, ~std::uint64_t{0}};
        std::uint64_t value = hard[below(std::size(hard))];
        const std::size_t at = below(bytes.size());
        for (std::size_t i = at; i < std::min(at + 8, bytes.size()); ++i, value >>= 8U) {
          bytes[i] = static_cast<std::uint8_t>(value);
        }
        break;
      }
      case 3: {
        const auto [at, length] = piece(bytes);
        bytes.erase(place(at), place(at + length));
        break;
      }
      case 4: {
        const auto [at, length] = piece(bytes);
        const Bytes copy(place(at), place(at + length));
        bytes.insert(place(below(bytes.size() + 1)), copy.begin(), copy.end());
        break;
      }
      case 5: {
        const Bytes& other = any();
        const auto [at, length] = piece(other);
        const auto from = other.begin() + static_cast<std::ptrdiff_t>(at);
        bytes.insert(place(below(bytes.size() + 1)), from,
                     from + static_cast<std::ptrdiff_t>(length));
        break;
      }
      default:
        bytes.resize(below(bytes.size()) + 1);
    }
  }

  const std::vector<Bytes>* corpus_;
  std::mt19937_64 random_;
};

std::vector<Bytes> read_corpus(const fs::path& directory) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(directory)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

/// The input is written before it is tried, so that a crash leaves it behind.
class Keeper {
 public:
  explicit Keeper(std::string path) : path_(std::move(path)) {}
  ~Keeper() { std::remove(path_.c_str()); }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  void keep(const Bytes& bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::string path_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s CORPUS [MUTATIONS [SEED]]\n", arguments[0]);
    return 2;
  }
  const std::vector<Bytes> corpus = read_corpus(arguments[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: an empty corpus\n", arguments[1]);
    return 2;
  }
  const long mutations = count > 2 ? std::strtol(arguments[2], nullptr, 10) : 0;
  const Keeper keeper(fs::path(arguments[0]).filename().string() + ".input");
  const auto run = [&](const Bytes& bytes) {
    keeper.keep(bytes);
    (void)LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  };
  for (const Bytes& bytes : corpus) run(bytes);
  Mutator mutator(corpus, count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 1);
  for (long i = 0; i < mutations; ++i) run(mutator.next());
  std::printf("%zu corpus inputs, %ld mutations\n", corpus.size(), mutations);
  return 0;
}
