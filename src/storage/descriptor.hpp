#pragma once

#include <unistd.h>

#include "physarum/base/handle.hpp"

namespace physarum::storage {

struct DescriptorTraits {
  using value_type = int;
  static constexpr base::ReleaseKind kind = base::ReleaseKind::local;
  static constexpr const char* name = "file descriptor";
  static value_type null() { return -1; }
  static bool alive() noexcept { return true; }
  static void release(value_type descriptor) { ::close(descriptor); }
};

using Descriptor = base::Handle<DescriptorTraits>;

}  // namespace physarum::storage
