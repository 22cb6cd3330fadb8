#include "attendance.hpp"

#include <algorithm>

namespace physarum::buffer {

namespace {
const char* role_name(Party role) {
  switch (role) {
    case Party::server:
      return "buffer";
    case Party::engine:
      return "engine";
    case Party::trainer:
      break;
  }
  return "trainer";
}
}  // namespace

std::string describe(const Client& client) {
  return std::string(role_name(client.second)) + " on rank " + std::to_string(client.first.value());
}

void Attendance::heard(Client client, double now_s) {
  const auto found = present_.find(client);
  if (found != present_.end()) found->second.heard_s = now_s;
}

void Attendance::waits(Client client) {
  const auto found = present_.find(client);
  if (found != present_.end()) found->second.waits = true;
}

void Attendance::answered(Client client, double now_s) {
  const auto found = present_.find(client);
  if (found != present_.end()) found->second = {now_s, false};
}

std::int64_t Attendance::count(Party role) const {
  return std::ranges::count_if(present_,
                               [role](const auto& entry) { return entry.first.second == role; });
}

bool Attendance::all_wait() const {
  return std::ranges::all_of(present_, [](const auto& entry) {
    return entry.second.waits || entry.first.second == Party::server;
  });
}

std::optional<Client> Attendance::silent_since(double since_s) const {
  for (const auto& [client, state] : present_) {
    // Buffer ranks speak when they have something to say.
    if (client.second != Party::server && !state.waits && state.heard_s < since_s) return client;
  }
  return {};
}

std::string Attendance::describe_present() const {
  std::string text;
  for (const auto& [client, state] : present_)
    text += (text.empty() ? "" : ", ") + describe(client) + (state.waits ? " (waits)" : "");
  return text.empty() ? "nobody" : text;
}

}  // namespace physarum::buffer
