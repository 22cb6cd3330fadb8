#include "file_carrier.hpp"

#include "physarum/parallel/wait.hpp"

namespace physarum::weights {

FileCarrier::FileCarrier(const CarrierParts& parts, std::unique_ptr<Carrier> own)
    : own_(std::move(own)),
      patience_s_(parts.pull.patience_s()),
      directory_(parts.files.directory) {
  if (parts.store == nullptr) return;
  writer_.emplace(parts.layout, parts.pull.rank(), parts.memory, *parts.store,
                  parts.files.catalogue, storage::real_file_system(), directory_);
}

bool FileCarrier::serve() {
  const bool served = own_->serve();
  return writer_->advance() || served;
}

bool FileCarrier::may_fold(base::WeightVersion version) const {
  return own_->may_fold(version) && writer_->has_taken(version);
}

void FileCarrier::close() {
  const parallel::Phase phase("write weights");
  const auto deadline = base::Deadline::in(patience_s_);
  const auto turn = [this] { return writer_->advance(); };
  if (writer_ && !parallel::wait_until([this] { return writer_->finished(); }, deadline, turn)) {
    parallel::throw_deadline("buffer rank", "the disk under " + directory_, deadline);
  }
  writer_.reset();
  own_->close();
}

}  // namespace physarum::weights
