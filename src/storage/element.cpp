#include "physarum/storage/element.hpp"

#include <array>

namespace physarum::storage {

namespace {
struct Entry {
  std::size_t bytes;
  std::string_view name;
};
constexpr std::array<Entry, 11> entries{{{1, "int8"},
                                         {1, "uint8"},
                                         {2, "int16"},
                                         {2, "uint16"},
                                         {4, "int32"},
                                         {4, "uint32"},
                                         {8, "int64"},
                                         {8, "uint64"},
                                         {4, "float32"},
                                         {8, "float64"},
                                         {1, "text"}}};
const Entry& entry(Element element) { return entries[static_cast<std::size_t>(element)]; }
}  // namespace

std::size_t element_bytes(Element element) noexcept { return entry(element).bytes; }
std::string_view element_name(Element element) noexcept { return entry(element).name; }

}  // namespace physarum::storage
