#include <algorithm>

#include "physarum/base/contracts.hpp"

#include "file_impl.hpp"

namespace physarum::storage {

namespace {
/// Calls use(path so far) for "a", "a/b", "a/b/c"; stops when it says false.
template <class Use>
bool every_prefix(std::string_view name, Use&& use) {
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = name.find('/', end == 0 ? 0 : end + 1);
    if (!use(std::string(name.substr(0, end)))) return false;
  }
  return true;
}

struct Listing {
  std::vector<std::string> names;
};

herr_t append_name(hid_t, const char* name, const H5L_info_t*, void* listing) {
  try {
    static_cast<Listing*>(listing)->names.emplace_back(name);
  } catch (...) {  // no exception may pass through C
    return -1;
  }
  return 0;
}

H5O_type_t type_of(hid_t file, const std::string& name) {
  H5O_info_t info{};
  if (H5Oget_info_by_name2(file, name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
    H5Eclear2(H5E_DEFAULT);
    return H5O_TYPE_UNKNOWN;
  }
  return info.type;
}
}  // namespace

// Soft and external links are treated as absent: a file must not lead the reader out of itself.
bool has_object(hid_t file, std::string_view name) {
  if (name.empty()) return true;
  const bool found = every_prefix(name, [file](const std::string& prefix) {
    if (prefix.empty() || H5Lexists(file, prefix.c_str(), H5P_DEFAULT) <= 0) return false;
    H5L_info_t info{};
    return H5Lget_info(file, prefix.c_str(), &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
  });
  H5Eclear2(H5E_DEFAULT);
  return found;
}

ObjectHandle open_object(const File::Impl& file, std::string_view name) {
  if (!has_object(file.handle.get(), name)) {
    file.refuse(name, "the file has no such object", "check that it is the file you meant");
  }
  const std::string path = name.empty() ? "/" : std::string(name);
  const hid_t opened = H5Oopen(file.handle.get(), path.c_str(), H5P_DEFAULT);
  if (opened < 0) file.refuse(name, "it cannot be read (" + hdf5_error() + ")", "");
  return ObjectHandle(opened);
}

void File::create_group(std::string_view name) {
  base::expects(valid() && !name.empty(), "the file is open and the group has a name");
  impl_->write_together([&] {
    auto link = make_properties(H5P_LINK_CREATE);
    check_status(H5Pset_create_intermediate_group(link.get(), 1),
                 "H5Pset_create_intermediate_group", name);
    const GroupHandle group(check_id(H5Gcreate2(impl_->handle.get(), std::string(name).c_str(),
                                                link.get(), H5P_DEFAULT, H5P_DEFAULT),
                                     "H5Gcreate2", impl_->place(name)));
  });
}

bool File::contains(std::string_view name) const {
  base::expects(valid(), "the file is open");
  return has_object(impl_->handle.get(), name);
}

std::vector<std::string> File::list(std::string_view group) const {
  base::expects(valid(), "the file is open");
  const auto object = open_object(*impl_, group);
  if (H5Iget_type(object.get()) != H5I_GROUP) {
    impl_->refuse(group, "this is not a group", "check that it is the file you meant");
  }
  Listing listing;
  hsize_t start = 0;
  if (H5Literate(object.get(), H5_INDEX_NAME, H5_ITER_INC, &start, append_name, &listing) < 0) {
    impl_->refuse(group, "the group cannot be read (" + hdf5_error() + ")", "");
  }
  for (auto& name : listing.names) {
    if (type_of(object.get(), name) == H5O_TYPE_GROUP) name += '/';
  }
  std::sort(listing.names.begin(), listing.names.end());
  return listing.names;
}

std::vector<std::string> File::datasets() const {
  constexpr std::size_t deepest = 16;  // groups may hold each other in a circle
  std::vector<std::string> found;
  std::vector<std::pair<std::string, std::size_t>> open{{"", 0}};
  while (!open.empty()) {
    const auto [group, depth] = open.back();
    open.pop_back();
    for (const auto& name : list(group)) {
      const std::string path = group.empty() ? name : group + "/" + name;
      if (!name.ends_with('/')) {
        if (has_object(impl_->handle.get(), path)) found.push_back(path);
      } else if (depth < deepest) {
        open.emplace_back(path.substr(0, path.size() - 1), depth + 1);
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace physarum::storage
