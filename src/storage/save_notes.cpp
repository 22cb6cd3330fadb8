#include "save_notes.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "physarum/base/bytes.hpp"
#include "physarum/base/deadline.hpp"
#include "physarum/base/error.hpp"

#include "physarum/storage/commit.hpp"

namespace physarum::storage {

namespace {

constexpr const char* failed_name = "failed";

std::string encode(const std::vector<WrittenShare>& shares) {
  base::ByteWriter out;
  out.put_vector(shares);
  const auto bytes = out.take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<WrittenShare> decode(const std::string& text) {
  base::ByteReader in(std::as_bytes(std::span(text)));
  auto shares = in.get_vector<WrittenShare>();
  in.finish();
  return shares;
}

}  // namespace

std::filesystem::path SaveNotes::path(Stage stage, int rank) const {
  return directory_ / ((stage == Stage::written ? "written-" : "checked-") + std::to_string(rank));
}

void SaveNotes::put(const std::filesystem::path& path, std::string_view content) const {
  const auto temporary = temporary_path(path);
  files_.write_file(temporary, content);
  files_.rename(temporary, path);
}

void SaveNotes::leave(Stage stage, int rank, const std::vector<WrittenShare>& shares) const {
  put(path(stage, rank), encode(shares));
}

void SaveNotes::stop_if_failed() const {
  if (files_.exists(directory_ / failed_name)) {
    throw base::WorldError("save", 0, files_.read_file(directory_ / failed_name));
  }
  if (!files_.exists(directory_)) throw base::WorldError("save", 0, "another rank has given it up");
}

std::vector<WrittenShare> SaveNotes::await(Stage stage, int rank) const {
  const auto awaited = path(stage, rank);
  const auto deadline = base::Deadline::in(timeout_s_);
  // Short at first, for small models; then rarely, for the sake of the metadata server.
  std::chrono::milliseconds pause{1};
  while (!files_.exists(awaited)) {
    stop_if_failed();
    if (deadline.expired()) {
      throw base::DeadlineExceeded("waited " + std::to_string(deadline.length_s()) + " s for '" +
                                   awaited.string() + "'");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds{100});
  }
  return decode(files_.read_file(awaited));
}

void SaveNotes::give_up(const std::string& why) const noexcept {
  try {
    put(directory_ / failed_name, why);
  } catch (const std::exception&) {
    // The others end by their deadline then.
  }
}

void SaveNotes::clear(int ranks) const {
  for (int rank = 0; rank < ranks; ++rank) {
    for (const Stage stage : {Stage::written, Stage::checked}) files_.remove(path(stage, rank));
  }
}

}  // namespace physarum::storage
