#include <utility>

#include "physarum/base/contracts.hpp"
#include "physarum/base/narrow.hpp"

#include "window_impl.hpp"

// Words of a window as atomics. A rank's own words go through MPI too: mixing plain loads with
// MPI's atomics is only defined for the latter.

namespace physarum::parallel {

namespace {
std::uint64_t& word_at(Window::Impl& window, std::uint64_t offset) {
  return *reinterpret_cast<std::uint64_t*>(window.local(offset));
}

void check_word(const Window::Impl& window, int target, std::uint64_t offset) {
  base::expects(offset % 8 == 0, "a word's offset is divisible by 8");
  window.check_range(target, offset, 8);
}

std::uint64_t fetch_and(Window::Impl& window, int target, std::uint64_t offset, MPI_Op op,
                        std::uint64_t value) {
  std::uint64_t before = 0;
  window.check(MPI_Fetch_and_op(&value, &before, MPI_UINT64_T, target,
                                base::narrow<MPI_Aint>(offset), op, window.handle.get()),
               "MPI_Fetch_and_op");
  window.check(MPI_Win_flush(target, window.handle.get()), "MPI_Win_flush");
  return before;
}
}  // namespace

std::uint64_t Epoch::load(int target, std::uint64_t offset) {
  check_word(window_, target, offset);
  if (window_.alone()) return word_at(window_, offset);
  return fetch_and(window_, target, offset, MPI_NO_OP, 0);
}

void Epoch::store(int target, std::uint64_t offset, std::uint64_t value) {
  check_word(window_, target, offset);
  if (window_.alone()) {
    word_at(window_, offset) = value;
    return;
  }
  fetch_and(window_, target, offset, MPI_REPLACE, value);
}

std::uint64_t Epoch::fetch_add(int target, std::uint64_t offset, std::uint64_t increment) {
  check_word(window_, target, offset);
  if (window_.alone())
    return std::exchange(word_at(window_, offset), word_at(window_, offset) + increment);
  return fetch_and(window_, target, offset, MPI_SUM, increment);
}

std::uint64_t Epoch::compare_and_swap(int target, std::uint64_t offset, std::uint64_t expected,
                                      std::uint64_t desired) {
  check_word(window_, target, offset);
  if (window_.alone()) {
    std::uint64_t& word = word_at(window_, offset);
    const std::uint64_t before = word;
    if (before == expected) word = desired;
    return before;
  }
  std::uint64_t before = 0;
  window_.check(MPI_Compare_and_swap(&desired, &expected, &before, MPI_UINT64_T, target,
                                     base::narrow<MPI_Aint>(offset), window_.handle.get()),
                "MPI_Compare_and_swap");
  window_.check(MPI_Win_flush(target, window_.handle.get()), "MPI_Win_flush");
  return before;
}

}  // namespace physarum::parallel
