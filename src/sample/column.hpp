#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "physarum/base/error.hpp"

#include "physarum/storage/file.hpp"

namespace physarum::sample {

/// Rows of different lengths: all values one after another, and where each row ends. In h5py:
/// `numpy.split(file[name + "/values"][:], file[name + "/ends"][:-1])`.
template <class T>
struct Ragged {
  std::vector<T> values;
  std::vector<std::int64_t> ends;

  void append(std::span<const T> row) {
    values.insert(values.end(), row.begin(), row.end());
    ends.push_back(static_cast<std::int64_t>(values.size()));
  }
  [[nodiscard]] std::span<const T> row(std::size_t index) const {
    const std::int64_t begin = index == 0 ? 0 : ends[index - 1];
    return std::span<const T>(values).subspan(static_cast<std::size_t>(begin),
                                              static_cast<std::size_t>(ends[index] - begin));
  }
};

/// Collective. Every rank's rows in rank order.
template <class T>
void write_ragged(storage::File& file, const std::string& name, const Ragged<T>& mine) {
  const auto base = static_cast<std::int64_t>(
      file.write_concatenated(name + "/values", std::span<const T>(mine.values)));
  std::vector<std::int64_t> ends;
  ends.reserve(mine.ends.size());
  for (const std::int64_t end : mine.ends) ends.push_back(base + end);
  file.write_concatenated(name + "/ends", std::span<const std::int64_t>(ends));
}

/// Throws UserError if the ends do not fit the values or there are not `rows` of them.
template <class T>
[[nodiscard]] Ragged<T> read_ragged(const storage::File& file, const std::string& name,
                                    std::size_t rows) {
  Ragged<T> column;
  column.values = file.read_dataset<T>(name + "/values");
  column.ends = file.read_dataset<std::int64_t>(name + "/ends", storage::Extent{rows});
  std::int64_t previous = 0;
  bool good = true;
  for (const std::int64_t end : column.ends) {
    good = good && end >= previous;
    previous = end;
  }
  if (!good || previous != static_cast<std::int64_t>(column.values.size())) {
    throw base::UserError("the row ends of '" + name + "' do not fit its values",
                          file.path().string(), "make the file again");
  }
  return column;
}

inline std::span<const std::uint8_t> as_row(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string as_text(std::span<const std::uint8_t> row) {
  return {reinterpret_cast<const char*>(row.data()), row.size()};
}

}  // namespace physarum::sample
