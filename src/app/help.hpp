#pragma once

#include <string>

#include "command.hpp"

namespace physarum::app {

/// `physarum --help`.
[[nodiscard]] std::string usage_text();
/// `physarum <command> --help`.
[[nodiscard]] std::string command_text(const Command& command);
/// `physarum --version`.
[[nodiscard]] std::string version_text();
/// docs/configuration.md, from the table that reads the flags.
[[nodiscard]] std::string options_markdown();

}  // namespace physarum::app
