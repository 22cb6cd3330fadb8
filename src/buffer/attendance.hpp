#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "physarum/exchange/transport.hpp"

namespace physarum::buffer {

using base::WorldRank;
using exchange::Party;

/// A client: a rank in one of its roles (a colocated rank is two).
using Client = std::pair<WorldRank, Party>;

[[nodiscard]] std::string describe(const Client& client);

/// Who is here, who waits for us, who has been silent for how long, who has left.
class Attendance {
 public:
  void expect(Client client, double now_s) { present_[client] = {now_s, false}; }
  void heard(Client client, double now_s);
  /// It has asked and waits: its silence is our doing until it is answered.
  void waits(Client client);
  /// It was answered: now it is its turn.
  void answered(Client client, double now_s);
  /// It said goodbye or died. False if it was not here (any more).
  bool leave(Client client) { return present_.erase(client) == 1; }

  [[nodiscard]] bool is_present(Client client) const { return present_.contains(client); }
  [[nodiscard]] bool empty() const { return present_.empty(); }
  [[nodiscard]] std::int64_t count(Party role) const;
  /// Buffer ranks aside.
  [[nodiscard]] bool all_wait() const;
  /// A client that has been silent, in its turn, since before `since_s`.
  [[nodiscard]] std::optional<Client> silent_since(double since_s) const;
  [[nodiscard]] std::string describe_present() const;

 private:
  struct State {
    double heard_s = 0;
    bool waits = false;
  };
  std::map<Client, State> present_;
};

}  // namespace physarum::buffer
