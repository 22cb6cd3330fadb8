#include "types.hpp"

#include <algorithm>
#include <array>

#include "physarum/base/contracts.hpp"

namespace physarum::storage {

namespace {
constexpr std::array numeric{Element::i8,  Element::u8,  Element::i16, Element::u16, Element::i32,
                             Element::u32, Element::i64, Element::u64, Element::f32, Element::f64};
}  // namespace

hid_t file_type(Element element) {
  start_hdf5();  // the names below are values that the library makes when it starts
  switch (element) {
    case Element::i8:
      return H5T_STD_I8LE;
    case Element::u8:
      return H5T_STD_U8LE;
    case Element::i16:
      return H5T_STD_I16LE;
    case Element::u16:
      return H5T_STD_U16LE;
    case Element::i32:
      return H5T_STD_I32LE;
    case Element::u32:
      return H5T_STD_U32LE;
    case Element::i64:
      return H5T_STD_I64LE;
    case Element::u64:
      return H5T_STD_U64LE;
    case Element::f32:
      return H5T_IEEE_F32LE;
    case Element::f64:
      return H5T_IEEE_F64LE;
    case Element::text:
      break;
  }
  base::contract_failed("expects", "text has no numeric type", base::SourceLocation::current());
}

// Wire and memory order are both little-endian (base/bytes.hpp asserts it): no conversion.
hid_t memory_type(Element element) { return file_type(element); }

std::optional<Element> element_of_type(hid_t type) {
  for (const Element element : numeric) {
    if (H5Tequal(type, file_type(element)) > 0) return element;
  }
  if (H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0) return Element::text;
  return std::nullopt;
}

std::string describe_type(hid_t type) {
  if (const auto element = element_of_type(type)) return std::string(element_name(*element));
  const std::string bits = std::to_string(8 * H5Tget_size(type)) + "-bit";
  const bool big = H5Tget_order(type) == H5T_ORDER_BE;
  H5Eclear2(H5E_DEFAULT);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return (big ? "a big-endian " : "an unusual ") + bits + " integer";
    case H5T_FLOAT:
      return (big ? "a big-endian " : "an unusual ") + bits + " number";
    case H5T_STRING:
      return "a variable-length string";
    case H5T_VLEN:
      return "a variable-length list";
    case H5T_COMPOUND:
      return "a compound";
    case H5T_REFERENCE:
      return "a reference";
    case H5T_ENUM:
      return "an enumeration";
    default:
      return "an unsupported type";
  }
}

TypeHandle make_text_type(std::size_t bytes) {
  start_hdf5();
  TypeHandle type(check_id(H5Tcopy(H5T_C_S1), "H5Tcopy", "text"));
  check_status(H5Tset_size(type.get(), std::max<std::size_t>(bytes, 1)), "H5Tset_size", "text");
  check_status(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "H5Tset_strpad", "text");
  check_status(H5Tset_cset(type.get(), H5T_CSET_UTF8), "H5Tset_cset", "text");
  return type;
}

}  // namespace physarum::storage
