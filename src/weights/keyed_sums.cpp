#include "keyed_sums.hpp"

#include <algorithm>
#include <array>

#include "physarum/base/philox.hpp"

namespace physarum::weights {
namespace {

struct alignas(64) Keys {
  std::array<std::uint32_t, block_words + key_shift> keys{};
};

Keys make_keys() {
  Keys made;
  constexpr std::array<std::uint32_t, 2> name = {0x53594850, 0x4d555241};
  for (std::uint32_t i = 0; i < made.keys.size(); i += 4) {
    const auto four = base::philox4x32({i / 4, 0, 0, 0}, name);
    std::copy(four.begin(), four.end(), made.keys.begin() + i);
  }
  return made;
}

}  // namespace

const std::uint32_t* sum_keys() {
  static const Keys made = make_keys();
  return made.keys.data();
}

AddWords add_words_baseline() { return &add_single_words; }

AddWords add_words() {
  static const AddWords best = [] {
    if (const AddWords avx512 = add_words_avx512()) return avx512;
    const AddWords avx2 = add_words_avx2();
    return avx2 != nullptr ? avx2 : add_words_baseline();
  }();
  return best;
}

}  // namespace physarum::weights
