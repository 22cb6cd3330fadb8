#include "message_carrier.hpp"

namespace physarum::weights {
namespace {
/// Engines have all that they asked for when they close; what is missing is word of it.
constexpr double closing_s = 30;
}  // namespace

MessageCarrier::MessageCarrier(const CarrierParts& parts, MessageLimits limits)
    : comm_(parts.pull.duplicate("weights by messages")) {
  if (parts.store != nullptr) {
    server_.emplace(comm_, parts.memory, parts.owner, *parts.store, limits);
  }
  access_.emplace(comm_, parts.layout.buffer_ranks(), server_ ? &*server_ : nullptr, limits);
}

void MessageCarrier::close() {
  access_.reset();
  if (server_) server_->finish(base::Deadline::in(closing_s));
  server_.reset();
  comm_.barrier();
  comm_.close();
}

}  // namespace physarum::weights
