#pragma once

#include <vector>

#include "physarum/base/ids.hpp"

#include "server_context.hpp"

namespace physarum::buffer {

/// The head: all buffer ranks forget these groups and ignore them if they come (again). All, not
/// only the owners: then every rank remembers one interval instead of its parts.
void release_for_good(const ServerContext& context, std::vector<base::GroupId> groups);

}  // namespace physarum::buffer
