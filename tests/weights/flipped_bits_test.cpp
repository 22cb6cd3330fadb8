// A thousand bits that flip on the way to an engine, one a pull.
#include <random>

#include <gtest/gtest.h>

#include "bad_line.hpp"

namespace physarum::weights {
namespace {

using test::BadLine;
using test::MemoryStore;
using test::options_of;
using Part = BadLine::Part;

/// A trainer that publishes, and an engine behind a bad line.
class FlippedBits : public testing::Test {
 protected:
  enum class Outcome { right, caught, wrong };

  /// Versions go on; what is published is small enough for a delta.
  void publish() {
    store_.publish(next_++);
    store_.fold_all();
  }
  /// `image` is what the engine had; a pull that went wrong may not leave it with a version.
  Outcome pull(Image& image) {
    bool retried = false;
    try {
      retried = puller_.pull(image, base::Deadline::in(10)).retries > 0;
    } catch (const PullFailed&) {
      retried = true;
    } catch (const base::WorldError&) {  // a window of another layout
      retried = true;
    }
    const bool claims_newest = image.version() == base::WeightVersion(store_.weights.version());
    if (claims_newest && image.digest() != store_.weights.image().digest()) return Outcome::wrong;
    return retried ? Outcome::caught : Outcome::right;
  }

  WeightOptions options_ = options_of(UpdateMode::delta, TransferType::bf16);
  MemoryStore store_{options_, 2, 0.002};
  BadLine line_{store_.engine_access, store_.layout};
  Puller puller_{std::make_unique<Puller::Impl>(store_.layout, line_, options_)};
  std::int64_t next_ = 0;
  std::mt19937_64 dice_{3};
};

TEST_F(FlippedBits, are_all_noticed_before_the_image_is_used) {
  constexpr std::int64_t flips = 1000;
  publish();
  Image image(store_.catalogue);
  for (std::int64_t flip = 0; flip < flips; ++flip) {
    const Part part = BadLine::parts[static_cast<std::size_t>(flip) % BadLine::parts.size()];
    publish();
    if (part == Part::slice) image.set_version({});  // takes the full image
    line_.flip_next(part, dice_());
    const Outcome outcome = pull(image);
    ASSERT_EQ(line_.fired(), flip + 1) << "the flip did not happen";
    ASSERT_NE(outcome, Outcome::wrong) << "flip " << flip;
    // Of the words only some matter to a pull.
    ASSERT_TRUE(part == Part::words || outcome == Outcome::caught) << "flip " << flip;
    if (image.version().valid()) continue;
    ASSERT_EQ(pull(image), Outcome::right);
  }
}

/// The control: the same flips are not noticed when the digests that travel agree to them.
TEST_F(FlippedBits, would_be_used_without_digests) {
  publish();
  for (std::int64_t flip = 0; flip < 50; ++flip) {
    Image image(store_.catalogue);
    line_.forge_next(dice_());
    EXPECT_EQ(pull(image), Outcome::wrong);
    ASSERT_EQ(line_.fired(), flip + 1);
  }
}

}  // namespace
}  // namespace physarum::weights
