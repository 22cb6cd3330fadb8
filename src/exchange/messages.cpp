#include "physarum/exchange/messages.hpp"

#include "physarum/sample/wire.hpp"

#include "message_parts.hpp"

namespace physarum::exchange {

using base::ByteReader;
using base::ByteWriter;

Bytes encode(const WorkRequest& message) {
  ByteWriter out;
  out.put(message.free_samples);
  out.put(message.replies_seen);
  out.put(message.known);
  out.put(message.current);
  for (const auto member : EngineCounters::members) out.put(message.counters.*member);
  return out.take();
}

template <>
WorkRequest decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    WorkRequest message;
    message.free_samples = in.get<std::int64_t>();
    message.replies_seen = in.get<std::int64_t>();
    message.known = in.get<WeightVersion>();
    message.current = in.get<WeightVersion>();
    for (const auto member : EngineCounters::members) {
      message.counters.*member = in.get<std::int64_t>();
      require(message.counters.*member >= 0, "an engine has counted less than nothing");
    }
    require(message.free_samples >= 0 && message.free_samples <= most_samples,
            "an engine's room is out of range");
    return message;
  });
}

Bytes encode(const WorkReply& message) {
  ByteWriter out;
  out.put<std::uint64_t>(message.leases.size());
  for (const auto& lease : message.leases) write(out, lease);
  out.put(message.newest);
  out.put(message.state);
  out.put<std::uint64_t>(message.recalls.size());
  for (const auto& recall : message.recalls) {
    out.put(recall.lease);
    out.put(recall.form);
  }
  return out.take();
}

template <>
WorkReply decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    WorkReply message;
    message.leases = read_list<sample::Lease>(in, sample::least_lease_bytes, sample::read_lease);
    message.newest = in.get<WeightVersion>();
    message.state = read_enum(in, RunState::over);
    message.recalls = read_list<Recall>(in, sizeof(LeaseId) + 1, [](ByteReader& list) {
      const auto lease = list.get<LeaseId>();
      return Recall{lease, read_enum(list, RecallForm::drop)};
    });
    return message;
  });
}

Bytes encode(const TakeRequest& message) { return encode_step(message.step); }
template <>
TakeRequest decode(ByteView bytes) {
  return {decode_step(bytes)};
}

Bytes encode(const Fetched& message) { return encode_step(message.step); }
template <>
Fetched decode(ByteView bytes) {
  return {decode_step(bytes)};
}

Bytes encode(const ArchiveReady& message) { return encode_step(message.step); }
template <>
ArchiveReady decode(ByteView bytes) {
  return {decode_step(bytes)};
}

Bytes encode(const Published& message) { return encode_step(message.version.value()); }
template <>
Published decode(ByteView bytes) {
  return {WeightVersion(decode_step(bytes))};
}

Bytes encode(const Finish&) { return {}; }
template <>
Finish decode(ByteView bytes) {
  require(bytes.empty(), "a message without content has some");
  return {};
}

Bytes encode(const Alarm& message) {
  ByteWriter out;
  out.put_string(message.text);
  return out.take();
}

template <>
Alarm decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) { return Alarm{in.get_string()}; });
}

Bytes encode(const Goodbye& message) {
  ByteWriter out;
  out.put(message.role);
  return out.take();
}

template <>
Goodbye decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) { return Goodbye{read_enum(in, Party::trainer)}; });
}

Bytes encode(const Shutdown&) { return {}; }
template <>
Shutdown decode(ByteView bytes) {
  require(bytes.empty(), "a message without content has some");
  return {};
}

Bytes encode(const StepReport& message) {
  ByteWriter out;
  out.put(message.step);
  out.put<std::uint64_t>(message.metrics.size());
  for (const auto& [name, value] : message.metrics) {
    out.put_string(name);
    out.put(value);
  }
  return out.take();
}

template <>
StepReport decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    StepReport message;
    message.step = in.get<std::int64_t>();
    const std::size_t count = read_count(in, 16);
    for (std::size_t i = 0; i < count; ++i) {
      auto name = in.get_string();
      message.metrics[std::move(name)] = in.get<double>();
    }
    return message;
  });
}

}  // namespace physarum::exchange
