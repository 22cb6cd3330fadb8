#include "physarum/model/cpu_target.hpp"

#include <cstdlib>
#include <string>

#include "physarum/base/error.hpp"

#include "kernels.hpp"

namespace physarum::model {

namespace {

constexpr CpuTarget all_targets[] = {CpuTarget::baseline, CpuTarget::avx2, CpuTarget::avx512};

CpuTarget best_target() {
  if (avx512_kernels() != nullptr) return CpuTarget::avx512;
  return avx2_kernels() != nullptr ? CpuTarget::avx2 : CpuTarget::baseline;
}

CpuTarget choose_target() {
  const CpuTarget best = best_target();
  const char* wanted = std::getenv("PHYSARUM_CPU");
  if (wanted == nullptr || *wanted == '\0') return best;
  for (const auto target : all_targets) {
    if (name_of(target) == wanted && target <= best) return target;
  }
  throw base::UserError("no kernels for '" + std::string(wanted) + "' here", "PHYSARUM_CPU",
                        "leave it empty, or take baseline" +
                            std::string(best >= CpuTarget::avx2 ? ", avx2" : "") +
                            (best >= CpuTarget::avx512 ? ", avx512" : ""));
}

}  // namespace

std::string_view name_of(CpuTarget target) {
  switch (target) {
    case CpuTarget::avx2:
      return "avx2";
    case CpuTarget::avx512:
      return "avx512";
    default:
      return "baseline";
  }
}

CpuTarget cpu_target() {
  static const CpuTarget chosen = choose_target();
  return chosen;
}

}  // namespace physarum::model
