#include "physarum/weights/weight_exchange.hpp"

#include "physarum/base/contracts.hpp"

#include "physarum/parallel/agree.hpp"

#include "carrier.hpp"
#include "file_puller.hpp"
#include "publisher_impl.hpp"
#include "puller_impl.hpp"
#include "weight_store_impl.hpp"

namespace physarum::weights {
namespace {

/// All ranks of `comm` compute offsets for themselves: one with another layout would put its bytes
/// anywhere.
void agree_on_layout(const parallel::Communicator& comm, const StoreLayout& layout,
                     const base::Deadline& deadline) {
  std::uint64_t hash = layout.hash();
  comm.broadcast(std::span(&hash, 1), 0, deadline);
  std::optional<parallel::LocalFailure> failure;
  if (hash != layout.hash()) {
    failure = parallel::LocalFailure{
        parallel::FailureKind::world,
        "ranks have different weight catalogues or weight options: " + comm.describe()};
  }
  parallel::agree_or_throw(comm, failure, deadline);
}

}  // namespace

class WeightExchange::Impl {
 public:
  Impl(const ExchangeMembers& members, CataloguePtr catalogue, const WeightOptions& options)
      : catalogue_(std::move(catalogue)),
        layout_(*catalogue_, options, members.buffer_ranks, members.trainer_ranks),
        options_(options) {}

  void open(const ExchangeMembers& members, const base::Deadline& deadline) {
    if (members.is_buffer) {
      *memory_ =
          AlignedBytes(layout_.window_bytes(members.core->rank()), AlignedBytes::Fill::nothing);
      WeightStore::Impl::initialise(layout_, members.core->rank(), memory_->span());
    }
    if (members.is_buffer || members.is_trainer) {
      agree_on_layout(*members.core, layout_, deadline);
      core_window_ = parallel::Window::over(*members.core, memory_->span(), "weights core");
      core_ = std::make_unique<WindowAccess>(core_window_);
    }
    if (members.is_buffer || members.is_engine) {
      agree_on_layout(*members.pull, layout_, deadline);
      carrier_ = make_carrier(options_.carrier, {*members.pull,
                                                 layout_,
                                                 memory_->span(),
                                                 memory_,
                                                 members.is_buffer ? core_.get() : nullptr,
                                                 members.is_engine,
                                                 {options_.directory, catalogue_->hash()}});
    }
    make_ends(members);
  }

  void make_ends(const ExchangeMembers& members) {
    std::function<void()> serve_store;
    if (members.is_buffer) {
      auto store = std::make_unique<WeightStore::Impl>(
          layout_, members.core->rank(), memory_->span(), *core_,
          [this](base::WeightVersion version) { return carrier_->may_fold(version); });
      serve_store = [folder = store.get()] {
        while (folder->fold()) {
        }
      };
      store_.emplace(std::move(store), [this] { return carrier_->serve(); });
    }
    if (members.is_trainer) {
      publisher_.emplace(std::make_unique<Publisher::Impl>(layout_, *members.trainers, *core_,
                                                           std::move(serve_store), options_));
    }
    if (members.is_engine) puller_.emplace(make_puller());
  }

  std::unique_ptr<Puller::Impl> make_puller() {
    StoreAccess& access = carrier_->engine_access();
    if (options_.carrier != WeightCarrier::file) {
      return std::make_unique<Puller::Impl>(layout_, access, options_);
    }
    return std::make_unique<FilePuller>(layout_, access, options_, catalogue_,
                                        storage::real_file_system());
  }

  void close() {
    puller_.reset();
    publisher_.reset();
    store_.reset();
    // Before the core window, through which a buffer rank's end reads its words.
    if (carrier_) carrier_->close();
    carrier_.reset();
    core_.reset();
    if (core_window_.valid()) core_window_.close();
  }

  CataloguePtr catalogue_;
  StoreLayout layout_;
  WeightOptions options_;
  std::shared_ptr<AlignedBytes> memory_ = std::make_shared<AlignedBytes>();
  parallel::Window core_window_;
  std::unique_ptr<WindowAccess> core_;
  std::unique_ptr<Carrier> carrier_;
  std::optional<WeightStore> store_;
  std::optional<Publisher> publisher_;
  std::optional<Puller> puller_;
};

WeightExchange WeightExchange::make(const ExchangeMembers& members, CataloguePtr catalogue,
                                    const WeightOptions& options, base::Deadline deadline) {
  options.validate();
  base::expects(catalogue != nullptr && catalogue->type() == options.transfer_type,
                "the catalogue is of the transfer type");
  base::expects(!members.is_trainer || members.trainers->size() == members.trainer_ranks,
                "the trainer group has the size that all ranks plan with");
  auto impl = std::make_unique<Impl>(members, std::move(catalogue), options);
  impl->open(members, deadline);
  return WeightExchange(std::move(impl));
}

WeightExchange::WeightExchange(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WeightExchange::WeightExchange(WeightExchange&&) noexcept = default;
WeightExchange& WeightExchange::operator=(WeightExchange&&) noexcept = default;
WeightExchange::~WeightExchange() = default;

WeightStore* WeightExchange::store() { return impl_->store_ ? &*impl_->store_ : nullptr; }
Publisher* WeightExchange::publisher() { return impl_->publisher_ ? &*impl_->publisher_ : nullptr; }
Puller* WeightExchange::puller() { return impl_->puller_ ? &*impl_->puller_ : nullptr; }
void WeightExchange::close() { impl_->close(); }

ExchangeMembers members_of(parallel::Layout& layout) {
  ExchangeMembers members;
  members.core = &layout.core();
  members.pull = &layout.pull();
  members.trainers = &layout.trainer();
  members.buffer_ranks = static_cast<int>(layout.plan().buffer_ranks().size());
  members.trainer_ranks = static_cast<int>(layout.plan().trainer_ranks().size());
  members.is_buffer = layout.is_buffer();
  members.is_trainer = layout.is_trainer();
  members.is_engine = layout.is_rollout();
  return members;
}

}  // namespace physarum::weights
