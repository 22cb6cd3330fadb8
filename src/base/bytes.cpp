#include "physarum/base/bytes.hpp"

namespace physarum::base {

// Out of line on purpose: once inlined, GCC 12 sees overflows in vector::insert that are not there.
void ByteWriter::append(std::span<const std::byte> raw) {
  bytes_.insert(bytes_.end(), raw.begin(), raw.end());
}

}  // namespace physarum::base
