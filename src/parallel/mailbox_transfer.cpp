#include <algorithm>
#include <cstring>

#include "physarum/base/contracts.hpp"
#include "physarum/base/narrow.hpp"

#include "mailbox_impl.hpp"
#include "peers.hpp"
#include "pieces.hpp"
#include "requests.hpp"

namespace physarum::parallel {

using base::narrow;

namespace {
constexpr int probes_per_turn = 16;  // one busy peer must not keep a role loop from its own work
}  // namespace

std::list<Outgoing>& abandoned_mail() {
  static auto* const mail = new std::list<Outgoing>();
  return *mail;
}

bool Mailbox::Impl::has_room(std::size_t bytes) const {
  if (outgoing.empty()) return true;  // a single message may be of any size
  return outgoing.size() < options.capacity_messages &&
         pending_bytes + bytes <= options.capacity_bytes;
}

void Mailbox::Impl::note_error(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  if (!means_lost_peer(error_class(code))) return check(code, call, comm.impl()->owner());
  for (const int peer : find_lost_peers(comm.impl()->handle.get())) {
    if (lost.insert(peer).second) newly_lost.push_back(peer);
  }
}

void Mailbox::Impl::post(Outgoing& mail) {
  const auto send = [&](const void* from, std::size_t count, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    note_error(MPI_Isend(from, narrow<int>(count), MPI_BYTE, mail.peer, tag,
                         comm.impl()->handle.get(), &request),
               "MPI_Isend");
    mail.requests.push_back(request);
  };
  if (mail.bytes.size() <= options.piece_bytes) {
    return send(mail.bytes.data(), mail.bytes.size(), narrow<int>(mail.head.tag));
  }
  send(&mail.head, sizeof mail.head, tag_head);
  for_each_piece(mail.bytes.size(), options.piece_bytes, [&](std::size_t begin, std::size_t count) {
    send(mail.bytes.data() + begin, count, tag_piece);
  });
}

bool Mailbox::Impl::advance_sends() {
  bool any = false;
  for (auto mail = outgoing.begin(); mail != outgoing.end();) {
    for (auto& request : mail->requests) {
      int done = 0;
      if (request != MPI_REQUEST_NULL) {
        note_error(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      }
    }
    const bool complete =
        std::all_of(mail->requests.begin(), mail->requests.end(),
                    [](MPI_Request request) { return request == MPI_REQUEST_NULL; });
    if (!complete && !lost.contains(mail->peer)) {
      ++mail;
      continue;
    }
    pending_bytes -= mail->head.bytes;
    const auto finished = mail++;
    if (complete) {
      outgoing.erase(finished);
    } else {  // to a dead peer a request may never complete: its memory is given up, not freed
      abandoned_mail().splice(abandoned_mail().end(), outgoing, finished);
    }
    any = true;
  }
  return any;
}

bool Mailbox::Impl::accept_new() {
  for (int turn = 0; turn < probes_per_turn; ++turn) {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    note_error(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm.impl()->handle.get(), &found, &message,
                           &status),
               "MPI_Improbe");
    if (found == 0) return turn > 0;
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    auto& mail = incoming.emplace_back();
    mail.peer = status.MPI_SOURCE;
    mail.tag = status.MPI_TAG;
    mail.bytes.resize(static_cast<std::size_t>(count));
    note_error(MPI_Imrecv(mail.bytes.data(), count, MPI_BYTE, &message, &mail.request),
               "MPI_Imrecv");
  }
  return true;
}

// Peers overtake one another, messages of one peer do not.
bool Mailbox::Impl::advance_receives() {
  bool any = false;
  std::set<int> waiting;
  for (auto mail = incoming.begin(); mail != incoming.end();) {
    int done = 0;
    int code = MPI_SUCCESS;
    if (mail->request != MPI_REQUEST_NULL) {
      code = MPI_Test(&mail->request, &done, MPI_STATUS_IGNORE);
      note_error(code, "MPI_Test");
    }
    const bool complete = mail->request == MPI_REQUEST_NULL;
    // A failed request is gone too, but what it received is not a message.
    if (code != MPI_SUCCESS || (!complete && lost.contains(mail->peer))) {
      keep_forever(std::move(mail->bytes));
      mail = incoming.erase(mail);
    } else if (complete && !waiting.contains(mail->peer)) {
      deliver(*mail);
      mail = incoming.erase(mail);
      any = true;
    } else {
      waiting.insert(mail->peer);
      ++mail;
    }
  }
  return any;
}

void Mailbox::Impl::deliver(Incoming& mail) {
  if (mail.tag == tag_head) {
    MailHead head;
    base::invariant(mail.bytes.size() == sizeof head, "a head has its size");
    std::memcpy(&head, mail.bytes.data(), sizeof head);
    assemblies[mail.peer] = {narrow<int>(head.tag), Bytes(head.bytes), 0};
    return;
  }
  if (mail.tag != tag_piece) {
    inbox.push_back({mail.peer, mail.tag, std::move(mail.bytes)});
    return;
  }
  auto& whole = assemblies[mail.peer];
  base::invariant(whole.filled + mail.bytes.size() <= whole.bytes.size(),
                  "pieces do not exceed what their head said");
  std::copy(mail.bytes.begin(), mail.bytes.end(),
            whole.bytes.begin() + static_cast<std::ptrdiff_t>(whole.filled));
  whole.filled += mail.bytes.size();
  if (whole.filled < whole.bytes.size()) return;
  inbox.push_back({mail.peer, whole.tag, std::move(whole.bytes)});
  assemblies.erase(mail.peer);
}

}  // namespace physarum::parallel
