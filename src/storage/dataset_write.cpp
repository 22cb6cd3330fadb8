#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "digest.hpp"
#include "file_impl.hpp"
#include "types.hpp"

namespace physarum::storage {

namespace {
constexpr std::uint64_t transfer_bytes = 256UL << 20;  // a call's share: MPI counts in int below

PropertiesHandle creation_properties(Element element, const Extent& extent,
                                     const DatasetOptions& options) {
  auto properties = make_properties(H5P_DATASET_CREATE);
  const hid_t list = properties.get();
  // Space is there before data: a full disk is noticed at once, and nothing is written twice.
  check_status(H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time", "dataset");
  check_status(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER), "H5Pset_fill_time", "dataset");
  if (options.layout == DatasetLayout::contiguous || count_elements(extent) == 0) return properties;
  std::vector<hsize_t> chunk(extent.begin(), extent.end());
  const std::uint64_t rows =
      options.chunk_bytes / std::max<std::uint64_t>(1, row_bytes(element, extent));
  chunk[0] = std::clamp<std::uint64_t>(rows, 1, extent[0]);
  check_status(H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()), "H5Pset_chunk",
               "dataset");
  check_status(H5Pset_fletcher32(list), "H5Pset_fletcher32", "dataset");
  return properties;
}

DatasetHandle create_dataset(const File::Impl& file, std::string_view name, hid_t type, hid_t space,
                             hid_t creation) {
  auto link = make_properties(H5P_LINK_CREATE);
  check_status(H5Pset_create_intermediate_group(link.get(), 1), "H5Pset_create_intermediate_group",
               name);
  return DatasetHandle(check_id(H5Dcreate2(file.handle.get(), std::string(name).c_str(), type,
                                           space, link.get(), creation, H5P_DEFAULT),
                                "H5Dcreate2", file.place(name)));
}

PropertiesHandle transfer_properties(const File::Impl& file, DatasetLayout layout) {
  auto properties = make_properties(H5P_DATASET_XFER);
  if (!file.shared()) return properties;
  // Filtered chunks can only be written collectively; plain ones need no partners.
  const auto mode = layout == DatasetLayout::checked ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT;
  check_status(H5Pset_dxpl_mpio(properties.get(), mode), "H5Pset_dxpl_mpio", "transfer");
  return properties;
}

struct Writing {
  hid_t dataset;
  Element element;
  const Extent& extent;
  hid_t transfer;
};

void write_rows(const Writing& to, std::uint64_t first, std::span<const std::byte> rows,
                const std::string& place) {
  const std::uint64_t count = rows.size() / row_bytes(to.element, to.extent);
  const auto in_file = select_rows(to.extent, first, count);
  Extent shape = to.extent;
  shape[0] = count;
  const auto in_memory = make_space(shape);
  if (count == 0) check_status(H5Sselect_none(in_memory.get()), "H5Sselect_none", place);
  check_status(H5Dwrite(to.dataset, memory_type(to.element), in_memory.get(), in_file.get(),
                        to.transfer, rows.data()),
               "H5Dwrite", place);
}
}  // namespace

SpaceHandle select_rows(const Extent& extent, std::uint64_t first, std::uint64_t count) {
  auto space = make_space(extent);
  if (count == 0 || count_elements(extent) == 0) {
    check_status(H5Sselect_none(space.get()), "H5Sselect_none", "rows");
    return space;
  }
  std::vector<hsize_t> start(extent.size(), 0);
  std::vector<hsize_t> sizes(extent.begin(), extent.end());
  start[0] = first;
  sizes[0] = count;
  check_status(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, sizes.data(),
                                   nullptr),
               "H5Sselect_hyperslab", "rows");
  return space;
}

void File::write_raw(std::string_view name, Element element, const Extent& extent,
                     std::uint64_t first_row, std::span<const std::byte> rows,
                     const DatasetOptions& options) {
  base::expects(valid() && !name.empty(), "the file is open and the dataset has a name");
  auto& file = *impl_;
  const std::uint64_t row = row_bytes(element, extent);
  const std::uint64_t piece_rows =
      std::max<std::uint64_t>(1, transfer_bytes / std::max<std::uint64_t>(row, 1));
  const std::uint64_t mine = row == 0 ? 0 : rows.size() / row;
  DatasetHandle dataset;
  file.write_together([&] {
    base::expects(row == 0 ? rows.empty() : rows.size() % row == 0, "whole rows are written");
    base::expects(mine == 0 || (first_row <= extent[0] && mine <= extent[0] - first_row),
                  "the rows lie in the dataset");
  });
  const auto digest =
      digest_shares({mine == 0 ? 0 : first_row * row, rows}, row * extent[0], file.writers());
  file.write_together([&] {
    const auto creation = creation_properties(element, extent, options);
    dataset =
        create_dataset(file, name, file_type(element), make_space(extent).get(), creation.get());
    write_text_attribute(dataset.get(), digest_attribute, digest);
  });
  // Collective transfers need the same number of calls on every rank.
  const auto transfer = transfer_properties(file, options.layout);
  const auto calls = file.writers().all_reduce_value<std::int64_t>(
      static_cast<std::int64_t>((mine + piece_rows - 1) / piece_rows), parallel::Op::max);
  file.write_together([&] {
    const Writing to{dataset.get(), element, extent, transfer.get()};
    for (std::uint64_t call = 0; call < static_cast<std::uint64_t>(calls); ++call) {
      const std::uint64_t begin = std::min(mine, call * piece_rows);
      const std::uint64_t count = std::min(piece_rows, mine - begin);
      write_rows(to, count == 0 ? 0 : first_row + begin, rows.subspan(begin * row, count * row),
                 file.place(name));
    }
    dataset.close();
  });
}

std::uint64_t File::reserve_dataset(std::string_view name, Element element, const Extent& extent) {
  base::expects(valid() && !name.empty() && !impl_->shared(),
                "one rank reserves a place in a file of its own");
  base::expects(count_elements(extent) > 0, "a dataset without elements has no place");
  auto& file = *impl_;
  haddr_t offset = HADDR_UNDEF;
  file.write_together([&] {
    const auto creation = creation_properties(element, extent, {});
    auto dataset =
        create_dataset(file, name, file_type(element), make_space(extent).get(), creation.get());
    offset = H5Dget_offset(dataset.get());
    if (offset == HADDR_UNDEF) {
      throw base::WorldError("H5Dget_offset", -1, "no place in the file for " + file.place(name));
    }
    dataset.close();
  });
  return offset;
}

std::uint64_t File::first_of_mine(std::uint64_t count) const {
  base::expects(valid(), "the file is open");
  const auto& comm = impl_->writers();
  const auto counts = comm.all_gather<std::uint64_t>(count);
  std::uint64_t first = 0;
  for (int rank = 0; rank < comm.rank(); ++rank) first += counts[static_cast<std::size_t>(rank)];
  return first;
}

std::uint64_t File::total_of_all(std::uint64_t count) const {
  base::expects(valid(), "the file is open");
  return static_cast<std::uint64_t>(
      impl_->writers().all_reduce_value(static_cast<std::int64_t>(count), parallel::Op::sum));
}

// Every rank could write the text; one does.
void File::write_text(std::string_view name, std::string_view text) {
  base::expects(valid() && !name.empty(), "the file is open and the text has a name");
  auto& file = *impl_;
  DatasetHandle dataset;
  const auto type = make_text_type(text.size());
  file.write_together([&] {
    auto creation = make_properties(H5P_DATASET_CREATE);
    check_status(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time",
                 name);
    dataset = create_dataset(file, name, type.get(), make_scalar_space().get(), creation.get());
    write_text_attribute(dataset.get(), digest_attribute,
                         digest_whole(std::as_bytes(std::span(text))));
  });
  file.write_together([&] {
    if (file.writers().rank() == 0 && !text.empty()) {
      check_status(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()),
                   "H5Dwrite", file.place(name));
    }
    dataset.close();
  });
}

}  // namespace physarum::storage
