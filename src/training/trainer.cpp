#include "physarum/training/trainer.hpp"

#include <utility>

#include "physarum/base/contracts.hpp"

#include "physarum/parallel/agree.hpp"

#include "physarum/model/hf_directory.hpp"

#include "trainer_impl.hpp"

namespace physarum::training {

Trainer::Impl::Impl(const TrainerSetup& its_setup, std::span<const float> initial,
                    const parallel::Communicator& its_trainers)
    : setup(its_setup),
      trainers(its_trainers),
      store(its_setup.model, model::Gradients::allocate),
      transformer(its_setup.model, store),
      updater(its_setup.options.optimiser, its_setup.total_steps, its_setup.transfer_type, store,
              initial, its_setup.changes) {
  parallel::together(trainers, [&] {
    setup.options.validate();
    setup.options.validate(setup.model);
  });
  if (!loss().use_kl_loss) return;
  reference =
      std::make_unique<ReferenceModel>(loss().ref_load, setup.model, setup.transfer_type, trainers);
}

Trainer::Trainer(const TrainerSetup& setup, std::span<const float> initial,
                 const parallel::Communicator& trainers)
    : impl_(std::make_unique<Impl>(setup, initial, trainers)) {
  base::expects(setup.temperature > 0, "training needs a temperature above 0");
}

Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

StepMetrics Trainer::step(const sample::Batch& batch) { return impl_->step(batch); }

std::vector<float> Trainer::log_probs(const sample::Sample& sample) {
  WorkItem item;
  item.append(sample, 0, 0);
  return impl_->log_probs(item.packed);
}

std::span<const float> Trainer::values() const { return std::as_const(impl_->store).values(); }

std::span<const float> Trainer::masters() const { return impl_->updater.masters(); }

base::Digest Trainer::checksum() const { return base::digest128(std::as_bytes(masters())); }

std::int64_t Trainer::updates() const { return impl_->updater.steps(); }

void Trainer::save_hf(storage::FileSystem& files, const std::filesystem::path& directory,
                      const std::filesystem::path& tokenizer_directory) const {
  model::save_hf(files, directory, impl_->setup.model, masters(), tokenizer_directory);
}

}  // namespace physarum::training
