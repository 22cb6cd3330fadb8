#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "digest.hpp"
#include "file_impl.hpp"
#include "types.hpp"

namespace physarum::storage {

namespace {
constexpr const char* damaged = "the data does not have its digest: the file is damaged";
constexpr const char* mend_data = "take another file, or write it again";

void require_digest(const File::Impl& file, std::string_view name, const CheckedDataset& dataset,
                    const std::string& computed) {
  if (!dataset.info.has_digest) return;
  const auto stored = read_text_attribute(file, name, digest_attribute);
  if (stored.value_or("") != computed) file.refuse(name, damaged, mend_data);
}

/// Even shares of `rows`, in rank order.
std::pair<std::uint64_t, std::uint64_t> even_share(std::uint64_t rows,
                                                   const parallel::Communicator& comm) {
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  const auto rank = static_cast<std::uint64_t>(comm.rank());
  const auto begin = [&](std::uint64_t r) { return rows / ranks * r + std::min(r, rows % ranks); };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}
}  // namespace

void read_rows_of(const CheckedDataset& dataset, std::uint64_t first, std::span<std::byte> rows,
                  const std::string& place) {
  if (rows.empty()) return;
  const auto& info = dataset.info;
  const std::uint64_t count = rows.size() / row_bytes(info.element, info.extent);
  const auto in_file = select_rows(info.extent, first, count);
  Extent shape = info.extent;
  shape[0] = count;
  const auto in_memory = make_space(shape);
  if (H5Dread(dataset.handle.get(), memory_type(info.element), in_memory.get(), in_file.get(),
              H5P_DEFAULT, rows.data()) < 0) {
    throw base::UserError("the data cannot be read (" + hdf5_error() + ")", place, mend_data);
  }
}

void File::read_rows_raw(std::string_view name, Element element, std::uint64_t first_row,
                         std::span<std::byte> rows) const {
  base::expects(valid(), "the file is open");
  const auto dataset = open_dataset(*impl_, name, element);
  const std::uint64_t row = row_bytes(element, dataset.info.extent);
  base::expects(row == 0 ? rows.empty() : rows.size() % row == 0, "whole rows are read");
  const std::uint64_t count = row == 0 ? 0 : rows.size() / row;
  const std::uint64_t has = dataset.info.extent[0];
  if (first_row > has || count > has - first_row) {
    impl_->refuse(
        name, "it has " + std::to_string(has) + " rows, not " + std::to_string(first_row + count),
        "check that it is the file you meant");
  }
  read_rows_of(dataset, first_row, rows, impl_->place(name));
}

void File::read_all_raw(std::string_view name, Element element, std::span<std::byte> values) const {
  base::expects(valid(), "the file is open");
  const auto dataset = open_dataset(*impl_, name, element);
  if (dataset.info.bytes != values.size()) {
    impl_->refuse(name,
                  "it holds " + std::to_string(dataset.info.bytes) + " bytes, expected " +
                      std::to_string(values.size()),
                  "check that it is the file you meant");
  }
  read_rows_of(dataset, 0, values, impl_->place(name));
  if (dataset.info.has_digest) require_digest(*impl_, name, dataset, digest_whole(values));
}

void File::read_share_raw(std::string_view name, Element element, std::uint64_t first_row,
                          std::span<std::byte> rows, const parallel::Communicator& comm) const {
  std::uint64_t begin = 0;
  std::uint64_t total = 0;
  parallel::together(comm, [&] {
    read_rows_raw(name, element, first_row, rows);
    const auto extent = open_dataset(*impl_, name, element).info.extent;
    begin = rows.empty() ? 0 : first_row * row_bytes(element, extent);
    total = extent[0] * row_bytes(element, extent);
  });
  const auto computed = digest_shares({begin, rows}, total, comm);
  parallel::together(
      comm, [&] { require_digest(*impl_, name, open_dataset(*impl_, name, element), computed); });
}

std::string File::read_text(std::string_view name) const {
  base::expects(valid(), "the file is open");
  const auto dataset = open_dataset(*impl_, name, Element::text);
  std::string text(dataset.info.bytes, '\0');
  const TypeHandle type(check_id(H5Dget_type(dataset.handle.get()), "H5Dget_type", name));
  if (H5Dread(dataset.handle.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0) {
    impl_->refuse(name, "the text cannot be read (" + hdf5_error() + ")", mend_data);
  }
  while (!text.empty() && text.back() == '\0') text.pop_back();  // the padding of an empty text
  require_digest(*impl_, name, dataset, digest_whole(std::as_bytes(std::span(text))));
  return text;
}

void File::verify(std::string_view name, const parallel::Communicator& comm) const {
  base::expects(valid(), "the file is open");
  DatasetInfo info;
  parallel::together(comm, [&] { info = open_dataset(*impl_, name).info; });
  if (!info.has_digest) return;
  if (info.element == Element::text) {
    return parallel::together(comm, [&] { (void)read_text(name); });
  }
  // A share at a time would need blocks to be joined over turns; shares are what ranks hold anyway.
  const auto [first, count] = even_share(info.extent[0], comm);
  base::Bytes rows(count * row_bytes(info.element, info.extent));
  read_share_raw(name, info.element, first, rows, comm);
}

void File::verify_all(const parallel::Communicator& comm) const {
  std::vector<std::string> names;
  parallel::together(comm, [&] { names = datasets(); });
  for (const auto& name : names) verify(name, comm);
}

}  // namespace physarum::storage
