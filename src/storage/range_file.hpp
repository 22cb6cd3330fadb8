#pragma once

#include <memory>

#include "physarum/storage/file_system.hpp"

namespace physarum::storage {

/// The operating system's.
[[nodiscard]] std::unique_ptr<RangeFile> open_real_ranges(const FileSystem::Path& path,
                                                          RangeAccess access);

}  // namespace physarum::storage
