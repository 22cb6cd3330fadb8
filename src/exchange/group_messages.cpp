#include <algorithm>

#include "physarum/sample/wire.hpp"

#include "message_parts.hpp"

namespace physarum::exchange {

using base::ByteReader;
using base::ByteWriter;

namespace {
std::vector<GroupId> read_groups(ByteReader& in) {
  auto groups = in.get_vector<GroupId>();
  require(std::ranges::all_of(groups, &GroupId::valid), "a group has no id");
  return groups;
}
}  // namespace

Bytes encode(const TakeReply& message) {
  ByteWriter out;
  write(out, message.plan);
  return out.take();
}

template <>
TakeReply decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) { return TakeReply{sample::read_batch_plan(in)}; });
}

Bytes encode(const FetchRequest& message) {
  ByteWriter out;
  out.put(message.step);
  out.put_vector(message.samples);
  return out.take();
}

template <>
FetchRequest decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    FetchRequest message;
    message.step = in.get<std::int64_t>();
    message.samples = in.get_vector<SampleKey>();
    return message;
  });
}

Bytes encode(const FetchReply& message) {
  ByteWriter out;
  out.put(message.step);
  out.put<std::uint64_t>(message.samples.size());
  for (const auto& sample : message.samples) write(out, sample);
  return out.take();
}

template <>
FetchReply decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    FetchReply message;
    message.step = in.get<std::int64_t>();
    message.samples =
        read_list<sample::Sample>(in, sample::least_sample_bytes, sample::read_sample);
    return message;
  });
}

Bytes encode(const Delivery& message) {
  ByteWriter out;
  write(out, message.group);
  return out.take();
}

template <>
Delivery decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) { return Delivery{sample::read_sample_group(in)}; });
}

Bytes encode(const HandBack& message) {
  ByteWriter out;
  write(out, message.group);
  return out.take();
}

template <>
HandBack decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    HandBack message{sample::read_sample_group(in)};
    require(message.group.has_aborted(), "a group is handed back that is finished");
    return message;
  });
}

Bytes encode(const Arrival& message) {
  ByteWriter out;
  out.put(message.group);
  out.put(message.lease);
  out.put(message.engine);
  out.put(message.outcome);
  out.put<std::uint64_t>(message.samples.size());
  for (const auto& summary : message.samples) write(out, summary);
  return out.take();
}

template <>
Arrival decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    Arrival message;
    message.group = in.get<GroupId>();
    message.lease = in.get<LeaseId>();
    message.engine = in.get<WorldRank>();
    message.outcome = read_enum(in, DeliveryOutcome::aborted);
    message.samples = read_list<sample::SampleSummary>(in, sample::least_summary_bytes,
                                                       sample::read_sample_summary);
    require(message.group.valid() && message.lease.valid() && message.engine.valid(),
            "an arrival has no group, lease or engine");
    return message;
  });
}

Bytes encode(const Release& message) {
  ByteWriter out;
  out.put(message.reason);
  out.put_vector(message.groups);
  return out.take();
}

template <>
Release decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    Release message;
    message.reason = read_enum(in, ReleaseReason::again);
    message.groups = read_groups(in);
    return message;
  });
}

Bytes encode(const ArchiveOrder& message) {
  ByteWriter out;
  out.put(message.step);
  out.put(message.purpose);
  out.put_string(message.file_name);
  out.put_vector(message.groups);
  return out.take();
}

template <>
ArchiveOrder decode(ByteView bytes) {
  return read_all(bytes, [](ByteReader& in) {
    ArchiveOrder message;
    message.step = in.get<std::int64_t>();
    message.purpose = read_enum(in, sample::Purpose::supervised);
    message.file_name = in.get_string();
    message.groups = read_groups(in);
    require(message.file_name.find('/') == std::string::npos && !message.file_name.empty(),
            "an archive order names no file within the directory");
    return message;
  });
}

}  // namespace physarum::exchange
