// Both ends of the messages on a store of plain bytes: rank 0 serves, the others are engines.
#include <algorithm>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/parallel/mailbox.hpp"
#include "physarum/parallel/wait.hpp"

#include "carrier.hpp"
#include "memory_store.hpp"
#include "message_access.hpp"
#include "support/mpi_test.hpp"

namespace physarum::weights {
namespace {

using parallel::Transfers;
using physarum::test::world;

constexpr std::size_t store_bytes = 2'000'000;
constexpr MessageLimits narrow_limits{.piece_bytes = 100'000,
                                      .credit_bytes = 400'000,
                                      .most_requests = 4,
                                      .silence_s = 120,
                                      .patience_s = 30};

std::byte byte_at(std::size_t place) { return static_cast<std::byte>(place * 31 % 253); }

class MessageEnds {
 public:
  explicit MessageEnds(const MessageLimits& given = narrow_limits)
      : limits(given), comm(world().duplicate("message ends")), windows(make_windows()) {
    if (comm.rank() == 0) {
      server = std::make_unique<MessageServer>(comm, windows[0].span(), nullptr, store, limits);
    }
    access = std::make_unique<MessageAccess>(comm, 1, server.get(), limits);
  }
  /// All ranks come here; rank 0 serves until they have.
  void meet() {
    const parallel::ProgressHook hook([this] { return server && server->serve(); });
    comm.barrier(physarum::test::soon());
  }
  void close() {
    meet();
    access.reset();
    if (server) server->finish(base::Deadline::in(10));
    server.reset();
    comm.barrier(physarum::test::soon());
    comm.close();
  }
  /// Gets a range as the engine and looks at it.
  void get_and_check(std::uint64_t offset, std::size_t bytes) {
    std::vector<std::byte> got(bytes);
    access->get(got, 0, offset);
    access->flush(physarum::test::soon());
    for (std::size_t i = 0; i < bytes; ++i) {
      if (got[i] == byte_at(offset + i)) continue;
      ADD_FAILURE() << "byte " << offset + i << " is wrong";
      return;
    }
  }

  MessageLimits limits;
  parallel::Communicator comm;
  std::vector<AlignedBytes> windows;
  test::MemoryAccess store{windows};
  std::unique_ptr<MessageServer> server;
  std::unique_ptr<MessageAccess> access;

 private:
  static std::vector<AlignedBytes> make_windows() {
    std::vector<AlignedBytes> made;
    made.emplace_back(static_cast<std::int64_t>(store_bytes), AlignedBytes::Fill::zeros);
    const auto bytes = made[0].span();
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_at(i);
    return made;
  }
};

/// What an engine says that does not keep to the protocol.
class RudeEngine {
 public:
  explicit RudeEngine(MessageEnds& ends) : transfers_(ends.comm) {}
  void say(std::span<const std::byte> bytes) { transfers_.send(bytes, 0, tag_request); }
  void ask(const WeightRequest& request) {
    say(std::as_bytes(std::span(&kept_.emplace_back(request), 1)));
  }
  void receive(std::span<std::byte> to) { transfers_.receive(to, 0, tag_data); }
  void wait_for_all() {
    EXPECT_TRUE(parallel::wait_until(
        [this] {
          (void)transfers_.advance();
          return transfers_.pending() == 0;
        },
        physarum::test::soon()));
  }
  std::uint64_t reason_of_refusal() {
    WeightRefusal refusal;
    EXPECT_TRUE(parallel::wait_until(
        [&] {
          (void)transfers_.advance();
          return transfers_.try_take(std::as_writable_bytes(std::span(&refusal, 1)), tag_refusal)
              .has_value();
        },
        physarum::test::soon()));
    return refusal.reason;
  }

 private:
  std::deque<WeightRequest> kept_;
  Transfers transfers_;
};

TEST(MessageCarrier, engines_read_any_range) {
  MessageEnds ends;
  ends.get_and_check(0, store_bytes);
  ends.get_and_check(store_bytes - 1, 1);
  ends.get_and_check(12'345, 100'000);
  ends.get_and_check(12'345, 100'001);
  ends.close();
}

TEST(MessageCarrier, many_ranges_at_a_time_wait_for_their_turn) {
  MessageEnds ends;
  std::vector<std::vector<std::byte>> parts(100);  // more than the server takes at a time
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].resize(1 + i * 37);
    ends.access->get(parts[i], 0, i * 5'000);
  }
  ends.access->flush(physarum::test::soon());
  ends.meet();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].front(), byte_at(i * 5'000));
    EXPECT_EQ(parts[i].back(), byte_at(i * 5'000 + parts[i].size() - 1));
  }
  ends.close();
}

TEST(MessageCarrier, an_engine_can_ask_for_a_full_image_and_for_nothing_else) {
  MessageEnds ends;
  const std::uint64_t before = ends.store.load(0, StoreWords::wanted);
  EXPECT_NE(before, 1U);
  ends.meet();
  const int last = ends.comm.size() - 1;
  if (ends.comm.rank() == last) {
    EXPECT_EQ(ends.access->load(0, StoreWords::wanted), before);
    ends.access->store(0, StoreWords::wanted, 1);
    EXPECT_EQ(ends.access->load(0, StoreWords::wanted), 1U);
  }
  EXPECT_THROW(ends.access->store(0, StoreWords::newest, 1), base::ContractViolation);
  EXPECT_THROW(ends.access->store(0, StoreWords::wanted, 2), base::ContractViolation);
  EXPECT_THROW(ends.access->put({}, 0, 0), base::ContractViolation);
  ends.meet();
  if (ends.comm.rank() == 0) {
    EXPECT_EQ(ends.store.load(0, StoreWords::wanted), 1U);
  }
  ends.close();
}

TEST(MessageCarrier, a_request_that_makes_no_sense_is_refused_and_others_do_not_notice) {
  if (world().size() < 2) return;
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  const auto get = [](std::uint64_t offset, std::uint64_t bytes) {
    return WeightRequest{WeightRequest::get, offset, bytes};
  };
  const std::vector<std::pair<WeightRequest, std::uint64_t>> cases = {
      {{0, 0, 8}, WeightRefusal::malformed},
      {{77, 0, 8}, WeightRefusal::malformed},
      {get(store_bytes, 1), WeightRefusal::outside},
      {get(0, store_bytes + 1), WeightRefusal::outside},
      {get(huge, 2), WeightRefusal::outside},
      {get(8, huge), WeightRefusal::outside},
      {get(huge - 7, huge), WeightRefusal::outside},
      {get(8, 0), WeightRefusal::outside}};
  for (const auto& [request, reason] : cases) {
    MessageEnds ends;
    if (ends.comm.rank() == 1) {
      RudeEngine engine(ends);
      engine.ask(request);
      EXPECT_EQ(engine.reason_of_refusal(), reason);
      engine.ask(get(0, 8));  // not heard any more
      engine.wait_for_all();
    } else if (ends.comm.rank() > 1) {
      ends.get_and_check(0, store_bytes);
    }
    ends.meet();
    if (ends.server) {
      EXPECT_EQ(ends.server->dropped(), 1);
    }
    if (ends.comm.rank() > 1) ends.get_and_check(5, 50'000);
    ends.close();
  }
}

TEST(MessageCarrier, messages_of_another_length_are_no_requests) {
  if (world().size() < 2) return;
  for (const std::size_t bytes : {0, 8, 23, 25, 2'000, 3'000'000}) {
    MessageEnds ends;
    const std::vector<std::byte> zeros(bytes);
    if (ends.comm.rank() == 1) {
      RudeEngine engine(ends);
      engine.say(zeros);
      EXPECT_EQ(engine.reason_of_refusal(), WeightRefusal::malformed);
      engine.wait_for_all();
    }
    ends.close();
  }
}

TEST(MessageCarrier, an_engine_learns_why_it_was_refused) {
  if (world().size() < 2) return;
  MessageEnds ends;
  if (ends.comm.rank() == 1) {
    std::vector<std::byte> bytes(100);
    ends.access->get(bytes, 0, store_bytes - 50);
    try {
      ends.access->flush(physarum::test::soon());
      ADD_FAILURE() << "bytes beyond the memory came";
    } catch (const base::WorldError& error) {
      EXPECT_NE(std::string(error.what())
                    .find("buffer rank 0 refuses: 100 bytes from 1999950 on are not in its memory"),
                std::string::npos)
          << error.what();
    }
  }
  ends.close();
}

TEST(MessageCarrier, more_requests_than_allowed_are_refused) {
  if (world().size() < 2) return;
  MessageEnds ends;
  RudeEngine engine(ends);
  for (int i = 0; i < 6 && ends.comm.rank() == 1; ++i) {
    engine.ask({WeightRequest::get, 0, 1'000'000});
  }
  // All of them are there before the first is looked at: none is answered.
  ends.comm.barrier(physarum::test::soon());
  if (ends.comm.rank() == 1) {
    EXPECT_EQ(engine.reason_of_refusal(), WeightRefusal::too_many);
    engine.wait_for_all();
  }
  ends.close();
}

TEST(MessageCarrier, an_engine_that_takes_nothing_is_dropped_and_others_do_not_notice) {
  if (world().size() < 2) return;
  MessageLimits limits = narrow_limits;
  limits.silence_s = 2;  // others must not seem silent where they wait for a core
  MessageEnds ends(limits);
  parallel::Mailbox mail(world());
  if (ends.comm.rank() == 1) {
    RudeEngine engine(ends);
    engine.ask({WeightRequest::get, 0, store_bytes});
    EXPECT_EQ(engine.reason_of_refusal(), WeightRefusal::silent);
    std::vector<std::byte> sent(limits.credit_bytes);
    for (std::size_t at = 0; at < sent.size(); at += limits.piece_bytes) {
      engine.receive(std::span(sent).subspan(at, limits.piece_bytes));
    }
    engine.wait_for_all();  // what was under way when it was dropped, and nothing else
    for (int other = 2; other < world().size(); ++other) {
      EXPECT_EQ(mail.send(other, 1, {}), parallel::SendResult::sent);
    }
  } else if (ends.comm.rank() > 1) {
    do ends.get_and_check(0, store_bytes);
    while (!mail.try_receive());
    ends.get_and_check(0, store_bytes);
  }
  ends.meet();
  EXPECT_TRUE(mail.flush(physarum::test::soon()));
  mail.close();
  if (ends.server) {
    EXPECT_EQ(ends.server->dropped(), 1);
  }
  ends.close();
}

TEST(MessageCarrier, a_buffer_rank_that_does_not_answer_is_named) {
  if (world().size() < 2) return;
  MessageEnds ends;
  std::vector<std::byte> bytes(100'000);
  if (ends.comm.rank() == 1) {
    ends.access->get(bytes, 0, 0);
    try {
      ends.access->flush(base::Deadline::in(0.2));
      ADD_FAILURE() << "nobody has served";
    } catch (const base::DeadlineExceeded& error) {
      EXPECT_NE(std::string(error.what()).find("100000 bytes of weights from buffer rank 0"),
                std::string::npos)
          << error.what();
    }
  }
  ends.comm.barrier(physarum::test::soon());  // nobody serves in here
  if (ends.comm.rank() == 0) {                // the request is taken away unanswered
    Transfers transfers(ends.comm);
    WeightRequest request;
    EXPECT_TRUE(parallel::wait_until(
        [&] {
          return transfers.try_take(std::as_writable_bytes(std::span(&request, 1)), tag_request)
              .has_value();
        },
        physarum::test::soon()));
    EXPECT_EQ(request.bytes, 100'000U);
  }
  ends.close();
}

TEST(MessageCarrier, is_what_the_flag_chooses) {
  const auto catalogue = test::small_catalogue(TransferType::bf16);
  const StoreLayout layout(*catalogue, {}, 1, 1);
  parallel::Communicator comm = world().duplicate("carrier");
  AlignedBytes memory(comm.rank() == 0 ? layout.window_bytes(0) : 0, AlignedBytes::Fill::zeros);
  std::vector<AlignedBytes> none;
  test::MemoryAccess store(none);
  const CarrierParts apart{
      comm, layout, memory.span(), nullptr, comm.rank() == 0 ? &store : nullptr, comm.rank() != 0};
  CarrierParts together = apart;
  together.is_engine = true;
  const auto check = [](WeightCarrier wanted, const CarrierParts& parts, WeightCarrier expected) {
    const auto carrier = make_carrier(wanted, parts);
    StoreAccess* const access = &carrier->engine_access();
    EXPECT_EQ(dynamic_cast<MessageAccess*>(access) != nullptr, expected == WeightCarrier::messages);
    EXPECT_EQ(dynamic_cast<WindowAccess*>(access) != nullptr, expected == WeightCarrier::rma);
    carrier->close();
  };
  check(WeightCarrier::rma, apart, WeightCarrier::rma);
  check(WeightCarrier::messages, together, WeightCarrier::messages);
  check(WeightCarrier::automatic, apart, WeightCarrier::messages);
  check(WeightCarrier::automatic, together, WeightCarrier::rma);
  comm.close();
}

}  // namespace
}  // namespace physarum::weights
