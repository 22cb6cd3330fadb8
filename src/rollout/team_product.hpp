#pragma once

#include "physarum/base/thread_team.hpp"

#include "physarum/model/gemm.hpp"

namespace physarum::rollout {

/// model::multiply_packed(), its columns shared out to a team: the same bits for any team.
inline void multiply_together(base::ThreadTeam& team, model::InputRows x,
                              const model::PackedMatrix& w, model::OutputRows y,
                              model::Update update = model::Update::replace,
                              const float* bias = nullptr) {
  team.run([&](int part) {
    const auto columns = base::part_of(w.out(), part, team.size(), model::gemm_strip_columns);
    model::multiply_packed_columns(x, w, columns.first, columns.count, y, update, bias);
  });
}

}  // namespace physarum::rollout
