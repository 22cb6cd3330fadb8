#include "transfer_ends.hpp"

#include <algorithm>
#include <vector>

#include <sched.h>

namespace physarum::weights {
namespace {
constexpr double patience_s = 300;

CataloguePtr catalogue_of(std::int64_t image_bytes) {
  return make_catalogue({{"weights", {image_bytes / 2}}}, TransferType::bf16);
}

double now_s() {
  return std::chrono::duration<double>(base::Clock::now().time_since_epoch()).count();
}
}  // namespace

TransferEnds::TransferEnds(parallel::Communicator& world, std::int64_t image_bytes,
                           const WeightOptions& options, const Link& link)
    : world_(world),
      catalogue_(catalogue_of(image_bytes)),
      layout_(*catalogue_, options, 1, 1),
      image_(catalogue_),
      core_(world.split(is_trainer() ? 0 : -1, 0, "core")) {
  if (is_trainer()) {
    *memory_ = AlignedBytes(layout_.window_bytes(0), AlignedBytes::Fill::zeros);
    WeightStore::Impl::initialise(layout_, 0, memory());
    window_ = parallel::Window::over(core_, memory(), "core");
    store_access_ = std::make_unique<WindowAccess>(window_);
  }
  for (const auto carrier : {WeightCarrier::rma, WeightCarrier::messages}) {
    const CarrierParts parts{world, layout_, memory(), memory_, store_access_.get(), !is_trainer()};
    ways_.push_back(std::make_unique<Way>(carrier, parts, options, link));
  }
  if (!is_trainer()) return;
  trainer_access_ = std::make_unique<LinkedAccess>(*store_access_, link);
  store_ = std::make_unique<WeightStore>(
      std::make_unique<WeightStore::Impl>(layout_, 0, memory(), *store_access_),
      [this] { return way_by(WeightCarrier::messages).carrier->serve(); });
  publisher_ = std::make_unique<Publisher>(std::make_unique<Publisher::Impl>(
      layout_, alone_, *trainer_access_, [] {}, options));
  hook_.emplace([this] { return store_->advance(); });
}

TransferEnds::~TransferEnds() {
  meet();
  hook_.reset();
  publisher_.reset();
  store_.reset();
  for (const auto& way : ways_) way->carrier->close();
  store_access_.reset();
  window_.close();
  core_.close();
}

TransferEnds::Way& TransferEnds::way_by(WeightCarrier carrier) {
  return **std::find_if(ways_.begin(), ways_.end(),
                        [&](const auto& way) { return way->kind == carrier; });
}

void TransferEnds::meet() { world_.barrier(base::Deadline::in(patience_s)); }

void TransferEnds::note(const WeightSteps& steps) {
  if (!is_trainer()) return;
  std::vector<float> values(steps.values_before().begin(), steps.values_before().end());
  publisher_->changes().update(values, steps.values(), publisher_->my_elements());
}

PublishResult TransferEnds::publish(const WeightSteps& steps) {
  return publisher_->publish(base::WeightVersion(++version_), steps.values(),
                             base::Deadline::in(patience_s));
}

PullResult TransferEnds::pull(std::int64_t version, WeightCarrier carrier) {
  Puller& puller = way_by(carrier).puller;
  while (puller.newest().value() < version) sched_yield();
  return puller.pull(image_, base::Deadline::in(patience_s));
}

double TransferEnds::timed(const std::function<void()>& of_trainer,
                           const std::function<void()>& of_engine) {
  meet();
  double begin = now_s();
  is_trainer() ? of_trainer() : of_engine();
  double end = now_s();
  meet();
  for (const double other : world_.all_gather(begin)) begin = std::min(begin, other);
  for (const double other : world_.all_gather(end)) end = std::max(end, other);
  return end - begin;
}

}  // namespace physarum::weights
