#include "weight_file.hpp"

#include "physarum/base/error.hpp"

#include "physarum/weights/delta_codec.hpp"
#include "physarum/weights/weight_directory.hpp"

namespace physarum::weights {
namespace {

using base::UserError;
using storage::File;

constexpr const char* write_again = "remove the file; the next full image makes up for it";

const char* name_of(TransferType type) { return type == TransferType::bf16 ? "bf16" : "f32"; }

std::string hex_of(std::uint64_t value) { return base::Digest{value, 0}.hex().substr(16); }

void require(const File& file, const char* name, std::int64_t expected) {
  const auto found = file.integer_attribute("", name);
  if (found == expected) return;
  throw UserError("the file's attribute '" + std::string(name) + "' is " + std::to_string(found) +
                      " where its name says " + std::to_string(expected),
                  file.path().string(), write_again);
}

/// Files of before cannot be compared: their digests are of another kind.
void require_format(const File& file) {
  if (file.integer_attribute("", "format_version") == weight_format().version) return;
  throw UserError("the file was written by an earlier version of this program",
                  file.path().string(), "write the weights again");
}

void require_catalogue(const File& file, const Catalogue& catalogue) {
  const auto bytes = file.integer_attribute("", "image_bytes");
  const auto type = file.string_attribute("", "transfer_type");
  if (bytes == catalogue.total_bytes() && type == name_of(catalogue.type()) &&
      file.string_attribute("", "catalogue") == hex_of(catalogue.hash())) {
    return;
  }
  throw UserError(
      "these are the weights of another model: " + std::to_string(bytes) + " bytes as " + type +
          " instead of " + std::to_string(catalogue.total_bytes()) + " as " +
          name_of(catalogue.type()),
      file.path().string(),
      "give --hf-checkpoint and --update-weight-transfer-type of the run that wrote it");
}

std::uint64_t payload_bytes(const File& file) {
  return file.contains("payload") ? file.info("payload").bytes : 0;
}

/// `bytes` is as long as the payload.
void read_payload(const File& file, std::span<std::byte> bytes) {
  if (!bytes.empty()) file.read_dataset_into("payload", bytes);
  if (file.string_attribute("", "payload_digest") == base::digest128(bytes).hex()) return;
  throw UserError("the payload does not have its digest: the file is damaged", file.path().string(),
                  write_again);
}

std::uint64_t write_head(File& file, const WeightFileContent& content) {
  const WeightFileName& name = content.name;
  file.set_attribute("", "weight_version", name.version.value());
  file.set_attribute("", "base_version", name.base.value());
  file.set_attribute("", "part", static_cast<std::int64_t>(name.part));
  file.set_attribute("", "parts", static_cast<std::int64_t>(name.parts));
  file.set_attribute("", "image_bytes", content.image_bytes);
  file.set_attribute("", "transfer_type", name_of(content.type));
  file.set_attribute("", "catalogue", hex_of(content.catalogue));
  file.set_attribute("", "payload_digest", base::digest128(content.payload).hex());
  std::vector<std::uint64_t> digests;
  for (const base::Digest& digest : content.digests) {
    digests.push_back(digest.low);
    digests.push_back(digest.high);
  }
  file.write_dataset("digests", {content.digests.size(), 2}, 0,
                     std::span<const std::uint64_t>(digests));
  if (content.payload.empty()) return 0;
  return file.reserve_dataset("payload", storage::Element::u8, {content.payload.size()});
}

}  // namespace

storage::Format weight_format() { return {"physarum.weights", 2}; }

std::uint64_t begin_weight_file(const std::filesystem::path& path,
                                const WeightFileContent& content) {
  static const parallel::Communicator alone;
  File file = File::create(path, alone, weight_format());
  try {
    const auto offset = write_head(file, content);
    file.flush();
    file.close();
    return offset;
  } catch (...) {
    file.abandon();
    throw;
  }
}

WeightFileReader::WeightFileReader(const std::filesystem::path& directory,
                                   const WeightFileName& name, const Catalogue& catalogue)
    : file_(File::open_read(directory / name.file_name(), weight_format())),
      part_(StoreShards(catalogue.total_bytes(), name.parts).of(name.part)) {
  require_catalogue(file_, catalogue);
  require_format(file_);
  require(file_, "weight_version", name.version.value());
  require(file_, "base_version", name.base.value());
  require(file_, "part", name.part);
  require(file_, "parts", name.parts);
  payload_bytes_ = static_cast<std::int64_t>(weights::payload_bytes(file_));
  if (!name.is_full() || payload_bytes_ == part_.size()) return;
  throw UserError("the file holds " + std::to_string(payload_bytes_) + " bytes of a part of " +
                      std::to_string(part_.size()),
                  file_.path().string(), write_again);
}

std::vector<base::Digest> WeightFileReader::digests() const {
  const auto blocks = static_cast<std::uint64_t>(StoreLayout::blocks_of(part_));
  const auto words = file_.read_dataset<std::uint64_t>("digests", storage::Extent{blocks, 2});
  std::vector<base::Digest> digests;
  for (std::size_t i = 0; i < words.size(); i += 2) digests.push_back({words[i], words[i + 1]});
  return digests;
}

void WeightFileReader::read(std::int64_t offset, std::span<std::byte> to) const {
  if (!to.empty()) file_.read_rows("payload", static_cast<std::uint64_t>(offset), to);
}

void WeightFileReader::read_all(std::span<std::byte> to) const { read_payload(file_, to); }

void read_weight_file(const std::filesystem::path& directory, const WeightFileName& name,
                      const Catalogue& catalogue, std::span<std::byte> bytes,
                      std::vector<base::Digest>& digests) {
  const WeightFileReader file(directory, name, catalogue);
  digests = file.digests();
  if (name.is_full()) return file.read_all(bytes);
  base::Bytes frames(static_cast<std::size_t>(file.payload_bytes()));
  file.read_all(frames);
  const Range range = StoreShards(catalogue.total_bytes(), name.parts).of(name.part);
  try {
    DeltaDecoder(catalogue.type())
        .apply(frames, {name.base, name.version}, range.begin / element_bytes(catalogue.type()),
               bytes);
  } catch (const CorruptDelta& error) {
    throw UserError(error.what(), (directory / name.file_name()).string(), write_again);
  }
}

std::vector<std::string> describe_weight_file(const File& file, PayloadCheck check) {
  const auto length = payload_bytes(file);
  if (check == PayloadCheck::verify) {
    base::Bytes payload(static_cast<std::size_t>(length));
    read_payload(file, payload);
  }
  const auto base = file.integer_attribute("", "base_version");
  return {"weight version: " + std::to_string(file.integer_attribute("", "weight_version")),
          base < 0 ? std::string("holds: the full image")
                   : "holds: what has changed since version " + std::to_string(base),
          "part: " + std::to_string(file.integer_attribute("", "part")) + " of " +
              std::to_string(file.integer_attribute("", "parts")) + ", " + std::to_string(length) +
              (check == PayloadCheck::verify ? " bytes that have their digest, " : " bytes, ") +
              std::to_string(file.info("digests").extent.at(0)) + " blocks",
          "image: " + std::to_string(file.integer_attribute("", "image_bytes")) + " bytes as " +
              file.string_attribute("", "transfer_type") + ", catalogue " +
              file.string_attribute("", "catalogue")};
}

}  // namespace physarum::weights
