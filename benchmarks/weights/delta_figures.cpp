// delta_figures BEFORE AFTER [ROUNDS [THREADS]]: two bf16 images (little-endian, one element after
// the other). Prints, each with a name and a value on a line: the share of changed elements, how
// many times smaller than the image the delta is (ours and as others send it), and speeds in GB of
// image a second: compare and encode, and apply, by so many threads (1); reading both images on one
// core and doing nothing else. Speeds are the best of the rounds.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <vector>

#include "physarum/base/deadline.hpp"

#include "physarum/weights/delta_codec.hpp"

#include "other_codecs.hpp"

namespace {

using namespace physarum;
using Image = std::vector<std::uint16_t>;

Image read_image(const char* path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) {
    std::fprintf(stderr, "delta_figures: '%s' cannot be read\n", path);
    std::exit(2);
  }
  Image image(static_cast<std::size_t>(in.tellg()) / 2);
  in.seekg(0);
  in.read(reinterpret_cast<char*>(image.data()), static_cast<std::streamsize>(image.size() * 2));
  return image;
}

double best_seconds(int rounds, const std::function<void()>& work) {
  double best = 1e30;
  for (int round = 0; round < rounds; ++round) {
    const base::Stopwatch watch;
    work();
    best = std::min(best, watch.seconds());
  }
  return best;
}

/// Reads both images once; the result keeps the compiler from leaving it out.
std::uint64_t read_both(const Image& a, const Image& b) {
  std::uint64_t sums[4] = {};
  for (std::size_t i = 0; i + 16 <= a.size(); i += 16) {
    std::uint64_t words[8];
    std::memcpy(words, &a[i], 32);
    std::memcpy(words + 4, &b[i], 32);
    for (int k = 0; k < 4; ++k) sums[k] += words[k] ^ words[k + 4];
  }
  return sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: delta_figures BEFORE AFTER [ROUNDS [THREADS]]\n");
    return 2;
  }
  const Image before = read_image(argv[1]);
  const Image after = read_image(argv[2]);
  const int rounds = argc > 3 ? std::max(1, std::atoi(argv[3])) : 5;
  if (before.size() != after.size() || before.empty()) {
    std::fprintf(stderr, "delta_figures: the images differ in size, or are empty\n");
    return 2;
  }
  const weights::DeltaStep step{base::WeightVersion(1), base::WeightVersion(2)};
  const auto bytes = static_cast<double>(after.size() * 2);
  base::ThreadTeam team(argc > 4 ? std::max(1, std::atoi(argv[4])) : 1);
  weights::DeltaEncoder encoder(weights::TransferType::bf16, &team);
  weights::DeltaDecoder decoder(weights::TransferType::bf16, &team);
  base::Bytes frames;
  std::int64_t changed = 0;
  const double encode_s = best_seconds(rounds, [&] {
    frames.clear();
    changed = encoder
                  .encode(std::as_bytes(std::span(before)), std::as_bytes(std::span(after)), 0,
                          step, std::int64_t{1} << 50, frames)
                  .value();
  });
  // Applying it again is the same work: the values are near the new ones as they were near the old
  // ones.
  Image image = before;
  const double apply_s = best_seconds(
      rounds, [&] { decoder.apply(frames, step, 0, std::as_writable_bytes(std::span(image))); });
  if (image != after) {
    std::fprintf(stderr, "delta_figures: the applied delta does not give the image\n");
    return 1;
  }
  std::uint64_t keep = 0;
  const double read_s = best_seconds(rounds, [&] { keep += read_both(before, after); });
  const OtherSizes others = other_sizes(before, after);
  const auto times = [&](std::size_t size) { return bytes / static_cast<double>(size); };
  std::printf("density %.6f\n", static_cast<double>(changed) * 2 / bytes);
  std::printf("smaller %.2f\n", times(frames.size()));
  std::printf("smaller_position_and_value %.2f\n", times(others.position_and_value));
  std::printf("smaller_xor_zstd %.2f\n", times(others.xor_zstd));
  std::printf("smaller_bitmask %.2f\n", times(others.bitmask));
  std::printf("encode_gb_per_s %.3f\n", bytes / encode_s / 1e9);
  std::printf("apply_gb_per_s %.3f\n", bytes / apply_s / 1e9);
  std::printf("read_both_gb_per_s %.3f\n", bytes / read_s / 1e9);
  return keep == 1 ? 3 : 0;
}
