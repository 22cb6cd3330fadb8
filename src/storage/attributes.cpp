#include <algorithm>
#include <cstdio>

#include "physarum/base/contracts.hpp"

#include "file_impl.hpp"
#include "types.hpp"

namespace physarum::storage {

namespace {
constexpr std::size_t most_attribute_bytes = 60 << 10;  // HDF5 keeps attributes in 64 KiB headers
constexpr const char* mend = "check that it is the file you meant";

void write_attribute(hid_t object, const std::string& name, hid_t type, const void* value) {
  if (H5Aexists(object, name.c_str()) > 0) {
    check_status(H5Adelete(object, name.c_str()), "H5Adelete", name);
  }
  const auto space = make_scalar_space();
  const AttributeHandle attribute(
      check_id(H5Acreate2(object, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
               "H5Acreate2", name));
  check_status(H5Awrite(attribute.get(), type, value), "H5Awrite", name);
}

struct FoundAttribute {
  AttributeHandle handle;
  TypeHandle type;
};

std::optional<FoundAttribute> find_attribute(const File::Impl& file, std::string_view object,
                                             std::string_view name) {
  const auto holder = open_object(file, object);
  const std::string text(name);
  if (H5Aexists(holder.get(), text.c_str()) <= 0) {
    H5Eclear2(H5E_DEFAULT);
    return std::nullopt;
  }
  const std::string where = std::string(object) + "@" + text;
  const hid_t opened = H5Aopen(holder.get(), text.c_str(), H5P_DEFAULT);
  if (opened < 0) file.refuse(where, "the attribute cannot be read (" + hdf5_error() + ")", mend);
  FoundAttribute found{AttributeHandle(opened), TypeHandle()};
  found.type = TypeHandle(check_id(H5Aget_type(opened), "H5Aget_type", where));
  const SpaceHandle space(check_id(H5Aget_space(opened), "H5Aget_space", where));
  if (H5Sget_simple_extent_npoints(space.get()) != 1) {
    file.refuse(where, "the attribute is not a single value", mend);
  }
  return found;
}

FoundAttribute need_attribute(const File::Impl& file, std::string_view object,
                              std::string_view name) {
  auto found = find_attribute(file, object, name);
  if (!found) {
    file.refuse(object, "the attribute '" + std::string(name) + "' is missing", mend);
  }
  return std::move(*found);
}

[[noreturn]] void refuse_type(const File::Impl& file, std::string_view object,
                              std::string_view name, hid_t type, const char* wanted) {
  file.refuse(
      object,
      "the attribute '" + std::string(name) + "' is " + describe_type(type) + ", not " + wanted,
      mend);
}

std::string read_text_value(const File::Impl& file, std::string_view object, std::string_view name,
                            const FoundAttribute& found) {
  const hid_t type = found.type.get();
  const std::size_t bytes = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ||
      bytes > most_attribute_bytes) {
    refuse_type(file, object, name, type, "a fixed-length string");
  }
  std::string text(bytes, '\0');
  if (H5Aread(found.handle.get(), type, text.data()) < 0) {
    file.refuse(object, "the attribute '" + std::string(name) + "' cannot be read", mend);
  }
  text.resize(std::min(text.size(), text.find_last_not_of('\0') + 1));
  return text;
}

template <class T>
T read_number_value(const File::Impl& file, std::string_view object, std::string_view name,
                    const FoundAttribute& found, hid_t memory) {
  T value{};
  if (H5Aread(found.handle.get(), memory, &value) < 0) {
    file.refuse(object, "the attribute '" + std::string(name) + "' cannot be read", mend);
  }
  return value;
}
}  // namespace

void write_text_attribute(hid_t object, const char* name, std::string_view value) {
  base::expects(value.size() <= most_attribute_bytes, "a long text is written by write_text()");
  const auto type = make_text_type(value.size());
  std::string padded(value);
  padded.resize(std::max<std::size_t>(padded.size(), 1));
  write_attribute(object, name, type.get(), padded.data());
}

std::optional<std::string> read_text_attribute(const File::Impl& file, std::string_view object,
                                               std::string_view name) {
  const auto found = find_attribute(file, object, name);
  if (!found) return std::nullopt;
  return read_text_value(file, object, name, *found);
}

void File::set_attribute(std::string_view object, std::string_view name, std::string_view value) {
  base::expects(valid(), "the file is open");
  impl_->write_together([&] {
    write_text_attribute(open_object(*impl_, object).get(), std::string(name).c_str(), value);
  });
}

void File::set_attribute(std::string_view object, std::string_view name, const char* value) {
  set_attribute(object, name, std::string_view(value));
}

void File::set_attribute(std::string_view object, std::string_view name, std::int64_t value) {
  base::expects(valid(), "the file is open");
  impl_->write_together([&] {
    write_attribute(open_object(*impl_, object).get(), std::string(name), file_type(Element::i64),
                    &value);
  });
}

void File::set_attribute(std::string_view object, std::string_view name, double value) {
  base::expects(valid(), "the file is open");
  impl_->write_together([&] {
    write_attribute(open_object(*impl_, object).get(), std::string(name), file_type(Element::f64),
                    &value);
  });
}

bool File::has_attribute(std::string_view object, std::string_view name) const {
  base::expects(valid(), "the file is open");
  const auto holder = open_object(*impl_, object);
  return H5Aexists(holder.get(), std::string(name).c_str()) > 0;
}

std::string File::string_attribute(std::string_view object, std::string_view name) const {
  base::expects(valid(), "the file is open");
  return read_text_value(*impl_, object, name, need_attribute(*impl_, object, name));
}

std::int64_t File::integer_attribute(std::string_view object, std::string_view name) const {
  base::expects(valid(), "the file is open");
  const auto found = need_attribute(*impl_, object, name);
  if (H5Tget_class(found.type.get()) != H5T_INTEGER) {
    refuse_type(*impl_, object, name, found.type.get(), "an integer");
  }
  return read_number_value<std::int64_t>(*impl_, object, name, found, memory_type(Element::i64));
}

double File::number_attribute(std::string_view object, std::string_view name) const {
  base::expects(valid(), "the file is open");
  const auto found = need_attribute(*impl_, object, name);
  const auto kind = H5Tget_class(found.type.get());
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) {
    refuse_type(*impl_, object, name, found.type.get(), "a number");
  }
  return read_number_value<double>(*impl_, object, name, found, memory_type(Element::f64));
}

namespace {
herr_t append_attribute(hid_t, const char* name, const H5A_info_t*, void* names) {
  try {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  } catch (...) {  // no exception may pass through C
    return -1;
  }
  return 0;
}
}  // namespace

std::vector<std::string> File::attributes(std::string_view object) const {
  base::expects(valid(), "the file is open");
  const auto holder = open_object(*impl_, object);
  std::vector<std::string> names;
  hsize_t start = 0;
  if (H5Aiterate2(holder.get(), H5_INDEX_NAME, H5_ITER_INC, &start, append_attribute, &names) < 0) {
    impl_->refuse(object, "the attributes cannot be read (" + hdf5_error() + ")", mend);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string File::attribute_text(std::string_view object, std::string_view name) const {
  base::expects(valid(), "the file is open");
  const auto found = need_attribute(*impl_, object, name);
  switch (H5Tget_class(found.type.get())) {
    case H5T_INTEGER:
      return std::to_string(integer_attribute(object, name));
    case H5T_FLOAT: {
      char text[32];
      std::snprintf(text, sizeof text, "%.17g", number_attribute(object, name));
      return text;
    }
    case H5T_STRING:
      if (H5Tis_variable_str(found.type.get()) == 0) return string_attribute(object, name);
      [[fallthrough]];
    default:
      return "(" + describe_type(found.type.get()) + ")";
  }
}

}  // namespace physarum::storage
