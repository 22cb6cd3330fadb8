// What travels when a checkpoint is made or the run is asked to stop.
#include <algorithm>

#include "message_parts.hpp"

namespace physarum::exchange {

using base::ByteReader;
using base::ByteWriter;

Bytes encode(const SnapshotRequest& message) { return encode_step(message.step); }
template <>
SnapshotRequest decode(ByteView bytes) {
  return {decode_step(bytes)};
}

Bytes encode(const SnapshotOrder& message) {
  ByteWriter out;
  out.put(message.step);
  out.put_vector(message.groups);
  return out.take();
}

template <>
SnapshotOrder decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    SnapshotOrder message;
    message.step = in.get<std::int64_t>();
    message.groups = in.get_vector<GroupId>();
    require(std::ranges::all_of(message.groups, &GroupId::valid), "a group has no id");
    return message;
  });
}

Bytes encode(const Snapshot& message) {
  ByteWriter out;
  out.put(message.step);
  out.put_vector(message.bytes);
  return out.take();
}

template <>
Snapshot decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    Snapshot message;
    message.step = in.get<std::int64_t>();
    message.bytes = in.get_vector<std::byte>();
    return message;
  });
}

Bytes encode(const ErrandOrder& message) {
  ByteWriter out;
  out.put(message.step);
  out.put(message.errand);
  out.put(message.form);
  return out.take();
}

template <>
ErrandOrder decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    ErrandOrder message;
    message.step = in.get<std::int64_t>();
    message.errand = read_enum(in, Errand::save_and_stop);
    message.form = read_enum(in, ErrandForm::before_batch);
    return message;
  });
}

Bytes encode(const Notice& message) {
  ByteWriter out;
  out.put<std::uint8_t>(message.warning ? 1 : 0);
  out.put_string(message.text);
  return out.take();
}

template <>
Notice decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    Notice message;
    message.warning = in.get<std::uint8_t>() != 0;
    message.text = in.get_string();
    return message;
  });
}

Bytes encode(const StopRequest&) { return {}; }
template <>
StopRequest decode(ByteView bytes) {
  require(bytes.empty(), "a message without content has some");
  return {};
}

}  // namespace physarum::exchange
