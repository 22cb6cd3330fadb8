// The null communicator is rank 0 of 1, without MPI: nothing here starts a session.

#include <array>

#include <gtest/gtest.h>

#include "physarum/base/contracts.hpp"
#include "physarum/base/error.hpp"

#include "physarum/parallel/agree.hpp"
#include "physarum/parallel/mailbox.hpp"
#include "physarum/parallel/session.hpp"
#include "physarum/parallel/window.hpp"

namespace physarum::parallel {
namespace {

using base::Deadline;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(NullCommunicator, is_rank_0_of_1) {
  const Communicator comm;
  EXPECT_FALSE(session_alive());
  EXPECT_EQ(comm.rank(), 0);
  EXPECT_EQ(comm.size(), 1);
  EXPECT_FALSE(comm.valid());
  EXPECT_TRUE(comm.intact());
}

TEST(NullCommunicator, does_every_collective) {
  Communicator comm;
  comm.barrier();
  std::vector<float> values{1, 2};
  comm.all_reduce(std::span<float>(values), Op::sum);
  EXPECT_EQ(values, (std::vector<float>{1, 2}));
  EXPECT_TRUE(comm.agree(true));
  EXPECT_FALSE(comm.agree(false));
  comm.broadcast(std::span<float>(values), 0);
  EXPECT_EQ(comm.all_gather(7), std::vector<int>{7});
  EXPECT_EQ(comm.all_gather_v(std::span<const float>(values)).at(0), values);
  EXPECT_EQ(comm.gather_bytes(bytes_of({1}), 0).at(0), bytes_of({1}));
  std::string text = "abc";
  comm.broadcast_string(text, 0);
  EXPECT_EQ(text, "abc");
  EXPECT_FALSE(comm.split(0, 0, "half").valid());
  comm.close();
}

TEST(NullCommunicator, together_throws_the_rank_s_own_error) {
  const Communicator comm;
  EXPECT_NO_THROW(together(comm, [] {}));
  EXPECT_THROW(together(comm, [] { throw base::UserError("a", "b", "c"); }), base::UserError);
  EXPECT_THROW(together(comm, [] { throw std::runtime_error("disk"); }), std::runtime_error);
}

TEST(NullMailbox, delivers_to_itself_in_order) {
  Mailbox box{Communicator()};
  EXPECT_FALSE(box.try_receive());
  EXPECT_EQ(box.send(0, 5, bytes_of({1, 2})), SendResult::sent);
  EXPECT_EQ(box.send(0, 6, Bytes()), SendResult::sent);
  EXPECT_TRUE(box.flush(Deadline::in(1)));
  const auto first = box.try_receive();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->peer, 0);
  EXPECT_EQ(first->tag, 5);
  EXPECT_EQ(first->bytes, bytes_of({1, 2}));
  EXPECT_EQ(box.try_receive()->tag, 6);
  EXPECT_FALSE(box.try_receive());
  box.close();
}

TEST(NullMailbox, refuses_peers_that_do_not_exist) {
  Mailbox box{Communicator()};
  EXPECT_THROW((void)box.send(1, 0, Bytes()), base::ContractViolation);
  EXPECT_THROW((void)box.send(0, -1, Bytes()), base::ContractViolation);
}

TEST(NullWindow, is_this_rank_s_own_memory) {
  alignas(8) std::array<std::byte, 64> memory{};
  Window window = Window::over(Communicator(), memory, "own");
  EXPECT_EQ(window.bytes_of(0), 64u);
  {
    Epoch epoch(window);
    const auto out = bytes_of({1, 2, 3});
    epoch.put(out, 0, 16);
    Bytes back(3);
    epoch.get(back, 0, 16);
    epoch.flush(0, Deadline::in(1));
    EXPECT_EQ(back, out);
    epoch.store(0, 0, 5);
    EXPECT_EQ(epoch.fetch_add(0, 0, 2), 5u);
    EXPECT_EQ(epoch.compare_and_swap(0, 0, 6, 9), 7u);
    EXPECT_EQ(epoch.compare_and_swap(0, 0, 7, 9), 7u);
    EXPECT_EQ(epoch.load(0, 0), 9u);
    EXPECT_THROW(epoch.put(out, 0, 62), base::ContractViolation);
    EXPECT_THROW(epoch.put(out, 1, 0), base::ContractViolation);
    EXPECT_THROW((void)epoch.load(0, 4), base::ContractViolation);
    EXPECT_THROW(Epoch second(window), base::ContractViolation);
  }
  window.close();
}

}  // namespace
}  // namespace physarum::parallel
