#include "physarum/weights/change_log.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "physarum/base/contracts.hpp"

#include "physarum/weights/convert.hpp"

#include "changed_elements.hpp"
#include "store_layout.hpp"

namespace physarum::weights {
namespace {

constexpr auto piece_size = static_cast<std::size_t>(ChangeLog::piece_elements);
static_assert(StoreLayout::block_bytes % (4 * ChangeLog::piece_elements) == 0);
/// Of a block that holds all elements, about.
constexpr std::int64_t sample_elements = 512;

template <class Element>
std::span<NotedChange<Element>> changes_of(const BlockNote& note) {
  return {reinterpret_cast<NotedChange<Element>*>(note.memory), note.count};
}

/// What one step changes in a piece: the places of its elements, and their bits.
template <class Element>
class PieceChanges {
 public:
  /// `first`: the first element's place in the block. Both sides outlive this.
  PieceChanges(std::span<const float> values, const float* masters, std::size_t first)
      : first_(first), was_(values.data()), is_(masters) {
    if constexpr (sizeof(Element) == sizeof(float)) {
      count_ = find_changed(sizeof(float))(std::as_bytes(values).data(),
                                           reinterpret_cast<const std::byte*>(masters),
                                           values.size(), positions_);
    } else {
      count_ = find_moved()(was_, is_, values.size(), positions_);
    }
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] NotedChange<Element> operator[](std::size_t i) const {
    const std::uint32_t position = positions_[i];
    return {static_cast<Element>(first_ + position), element_of(was_[position]),
            element_of(is_[position])};
  }
  /// Brings the values to the masters.
  void write(float* values) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint32_t bits = element_of(is_[positions_[i]]);
      values[positions_[i]] = std::bit_cast<float>(sizeof(Element) == 2 ? bits << 16 : bits);
    }
  }

 private:
  static Element element_of(float value) {
    const std::uint32_t bits = bits_of(value);
    return static_cast<Element>(sizeof(Element) == 2 ? round_bits(bits) : bits);
  }
  std::size_t first_;
  std::size_t count_ = 0;
  const float* was_;
  const float* is_;
  std::uint32_t positions_[piece_size + position_slack];
};

/// Older changes and newer ones: the first old value counts, and the last new one. Returns how many
/// there are then.
template <class Element>
std::size_t merge(std::span<const NotedChange<Element>> older, const PieceChanges<Element>& newer,
                  NotedChange<Element>* to) {
  const NotedChange<Element>* const begin = to;
  std::size_t next = 0;
  for (const NotedChange<Element>& known : older) {
    while (next < newer.size() && newer[next].position < known.position) *to++ = newer[next++];
    *to = known;
    if (next < newer.size() && newer[next].position == known.position) to->is = newer[next++].is;
    ++to;
  }
  while (next < newer.size()) *to++ = newer[next++];
  return static_cast<std::size_t>(to - begin);
}

/// Changes of places in a piece, among those of its block.
template <class Element>
Range place_among(std::span<const NotedChange<Element>> all, std::size_t first, std::size_t end) {
  const auto before = [](const NotedChange<Element>& change, std::size_t position) {
    return change.position < position;
  };
  // Mostly the piece follows all that is there.
  if (all.empty() || all.back().position < first) return {std::ssize(all), std::ssize(all)};
  return {std::lower_bound(all.begin(), all.end(), first, before) - all.begin(),
          std::lower_bound(all.begin(), all.end(), end, before) - all.begin()};
}

/// Puts what a step changed into a block's notes; false if they would be too many.
template <class Element>
bool add(const PieceChanges<Element>& found, std::size_t first, std::size_t elements,
         std::size_t most, BlockNote& note) {
  const auto all = changes_of<Element>(note);
  const Range place = place_among<Element>(all, first, first + elements);
  if (place.begin == std::ssize(all)) {
    if (all.size() + found.size() > most) return false;
    NotedChange<Element>* const to = all.data() + all.size();
    for (std::size_t i = 0; i < found.size(); ++i) to[i] = found[i];
    note.count += static_cast<std::uint32_t>(found.size());
    return true;
  }
  NotedChange<Element> merged[piece_size];
  const std::size_t count = merge<Element>(slice(all, place), found, merged);
  const std::size_t after = all.size() - static_cast<std::size_t>(place.size()) + count;
  if (after > most) return false;
  NotedChange<Element>* const to = all.data() + place.begin;
  std::memmove(to + count, all.data() + place.end,
               static_cast<std::size_t>(std::ssize(all) - place.end) * sizeof(*to));
  std::copy_n(merged, count, to);
  note.count = static_cast<std::uint32_t>(after);
  return true;
}

}  // namespace

ChangeLog::ChangeLog(TransferType type, Range share)
    : type_(type),
      share_(share),
      memory_(share.size() * element_bytes(type), AlignedBytes::Fill::nothing),
      notes_(static_cast<std::size_t>(
          StoreLayout::blocks_of({0, share.size() * element_bytes(type)}))) {
  for (std::size_t block = 0; block < notes_.size(); ++block) {
    notes_[block].memory =
        memory_.span().data() + block * static_cast<std::size_t>(StoreLayout::block_bytes);
  }
}

void ChangeLog::open() {
  for (BlockNote& note : notes_) note.count = 0;
  open_ = true;
}

std::int64_t ChangeLog::block_elements() const {
  return StoreLayout::block_bytes / element_bytes(type_);
}

Range ChangeLog::elements_of(std::int64_t block) const {
  const std::int64_t begin = share_.begin + block * block_elements();
  return {begin, std::min(begin + block_elements(), share_.end)};
}

void ChangeLog::update(std::span<float> values, std::span<const float> masters, Range elements) {
  base::expects(values.size() == masters.size() && elements.begin >= 0 &&
                    elements.end <= std::ssize(values) && share_.end <= std::ssize(values),
                "both are laid out as the image");
  const Range mine{std::max(elements.begin, share_.begin), std::min(elements.end, share_.end)};
  if (!open_ || mine.size() <= 0) return round_to_transfer(masters, values, elements);
  round_to_transfer(masters, values, {elements.begin, mine.begin});
  for (std::int64_t at = mine.begin; at < mine.end;) {
    const std::int64_t end = std::min(mine.end, (at / piece_elements + 1) * piece_elements);
    type_ == TransferType::bf16 ? update_piece<std::uint16_t>(values, masters, {at, end})
                                : update_piece<std::uint32_t>(values, masters, {at, end});
    at = end;
  }
  round_to_transfer(masters, values, {mine.end, elements.end});
}

void ChangeLog::round_to_transfer(std::span<const float> masters, std::span<float> values,
                                  Range elements) const {
  weights::round_to_transfer(slice(masters, elements), type_, slice(values, elements));
}

template <class Element>
void ChangeLog::update_piece(std::span<float> values, std::span<const float> masters,
                             Range elements) {
  const std::int64_t block = (elements.begin - share_.begin) / block_elements();
  BlockNote& note = notes_[static_cast<std::size_t>(block)];
  if (note.count == BlockNote::dense) return round_to_transfer(masters, values, elements);
  const Range whole = elements_of(block);
  const auto first = static_cast<std::size_t>(elements.begin - whole.begin);
  const auto piece = slice(values, elements);
  const PieceChanges<Element> found(piece, masters.data() + elements.begin, first);
  if (found.size() == 0) return;
  // A change takes as much memory as three elements.
  const auto most = static_cast<std::size_t>(whole.size() / 3);
  if (!add(found, first, piece.size(), most, note)) keep_all<Element>(block, values);
  found.write(piece.data());
}

/// What has no change is still what it was; what has one says what it was.
template <class Element>
void ChangeLog::keep_all(std::int64_t block, std::span<const float> values) {
  BlockNote& note = notes_[static_cast<std::size_t>(block)];
  const auto all = changes_of<Element>(note);
  const std::vector<NotedChange<Element>> changes(all.begin(), all.end());
  const Range whole = elements_of(block);
  to_transfer(slice(values, whole), type_,
              {note.memory, static_cast<std::size_t>(whole.size()) * sizeof(Element)});
  for (const NotedChange<Element>& change : changes) {
    std::memcpy(note.memory + change.position * sizeof(Element), &change.was, sizeof(Element));
  }
  note.count = BlockNote::dense;
}

double ChangeLog::sampled(std::int64_t block, std::span<const float> values) const {
  const Range whole = elements_of(block);
  const auto count = static_cast<std::size_t>(std::min(sample_elements, whole.size()));
  std::byte now[4 * sample_elements];
  std::uint32_t positions[sample_elements + position_slack];
  to_transfer(values.subspan(static_cast<std::size_t>(whole.begin - share_.begin), count), type_,
              std::span(now).first(count * static_cast<std::size_t>(element_bytes(type_))));
  const auto find = find_changed(static_cast<std::size_t>(element_bytes(type_)));
  const auto changed = find(notes_[static_cast<std::size_t>(block)].memory, now, count, positions);
  return static_cast<double>(changed) / static_cast<double>(count) *
         static_cast<double>(whole.size());
}

double ChangeLog::density(std::span<const float> values) const {
  double changed = 0;
  for (std::size_t block = 0; block < notes_.size(); ++block) {
    const bool dense = notes_[block].count == BlockNote::dense;
    changed += dense ? sampled(static_cast<std::int64_t>(block), values) : notes_[block].count;
  }
  return share_.size() == 0 ? 0 : changed / static_cast<double>(share_.size());
}

}  // namespace physarum::weights
