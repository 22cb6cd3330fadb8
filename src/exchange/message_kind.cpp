#include "physarum/exchange/message_kind.hpp"

#include <algorithm>
#include <array>

namespace physarum::exchange {

namespace {

struct KindEntry {
  MessageKind kind;
  Party party;
  std::string_view name;
};

using enum MessageKind;
constexpr std::array kinds = {
    KindEntry{work_request, Party::server, "work_request"},
    KindEntry{take_request, Party::server, "take_request"},
    KindEntry{fetched, Party::server, "fetched"},
    KindEntry{published, Party::server, "published"},
    KindEntry{step_report, Party::server, "step_report"},
    KindEntry{finish, Party::server, "finish"},
    KindEntry{snapshot_request, Party::server, "snapshot_request"},
    KindEntry{notice, Party::server, "notice"},
    KindEntry{stop_request, Party::server, "stop_request"},
    KindEntry{goodbye, Party::server, "goodbye"},
    KindEntry{arrival, Party::server, "arrival"},
    KindEntry{archive_ready, Party::server, "archive_ready"},
    KindEntry{alarm, Party::server, "alarm"},
    KindEntry{hand_back, Party::server, "hand_back"},
    KindEntry{delivery, Party::server, "delivery"},
    KindEntry{fetch_request, Party::server, "fetch_request"},
    KindEntry{release, Party::server, "release"},
    KindEntry{archive_order, Party::server, "archive_order"},
    KindEntry{snapshot_order, Party::server, "snapshot_order"},
    KindEntry{shutdown, Party::server, "shutdown"},
    KindEntry{work_reply, Party::engine, "work_reply"},
    KindEntry{take_reply, Party::trainer, "take_reply"},
    KindEntry{fetch_reply, Party::trainer, "fetch_reply"},
    KindEntry{errand, Party::trainer, "errand"},
    KindEntry{snapshot, Party::trainer, "snapshot"},
};

const KindEntry* find(MessageKind kind) {
  const auto* found = std::ranges::find(kinds, kind, &KindEntry::kind);
  return found == kinds.end() ? nullptr : found;
}

}  // namespace

Party party_of(MessageKind kind) {
  const auto* entry = find(kind);
  return entry == nullptr ? Party::server : entry->party;
}

std::string_view name_of(MessageKind kind) {
  const auto* entry = find(kind);
  return entry == nullptr ? "unknown" : entry->name;
}

bool is_message_kind(int tag) { return find(static_cast<MessageKind>(tag)) != nullptr; }

}  // namespace physarum::exchange
