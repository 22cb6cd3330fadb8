#pragma once

#include <cerrno>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "physarum/base/error.hpp"

#include "physarum/storage/file_system.hpp"

namespace physarum::test {

/// The real file system, with one step that fails: tests go through all steps in turn. Every call
/// that changes something is a step and is recorded as "rename a.tmp -> a".
class ScriptedFileSystem final : public storage::FileSystem {
 public:
  /// What happens at the step that fails.
  enum class Fault {
    refuse,  ///< the call fails with `code` and does nothing
    die,     ///< it and all later steps do nothing and throw: the process was killed here
  };

  /// The step with this number (from 0) fails; negative: none.
  void fail_at(int step, Fault fault = Fault::refuse, int code = ENOSPC) {
    failing_step_ = step;
    fault_ = fault;
    code_ = code;
    next_step_ = 0;
    steps_.clear();
    fired_ = false;
  }
  /// Did the fault happen? A test that never fires it proves nothing.
  [[nodiscard]] bool fired() const { return fired_; }
  [[nodiscard]] const std::vector<std::string>& steps() const { return steps_; }
  void set_free_bytes(std::uint64_t bytes) { free_bytes_ = bytes; }

  void rename(const Path& from, const Path& to) override {
    step("rename " + name(from) + " -> " + name(to), [&] { real().rename(from, to); });
  }
  void sync_file(const Path& path) override {
    step("sync_file " + name(path), [&] { real().sync_file(path); });
  }
  void sync_directory(const Path& path) override {
    step("sync_directory " + name(path), [&] { real().sync_directory(path); });
  }
  void remove(const Path& path) override {
    step("remove " + name(path), [&] { real().remove(path); });
  }
  void remove_tree(const Path& path) override {
    step("remove_tree " + name(path), [&] { real().remove_tree(path); });
  }
  void truncate(const Path& path, std::uint64_t bytes) override {
    step("truncate " + name(path), [&] { real().truncate(path, bytes); });
  }
  void make_directories(const Path& path) override {
    step("make_directories " + name(path), [&] { real().make_directories(path); });
  }
  void write_file(const Path& path, std::string_view content) override {
    step("write_file " + name(path), [&] { real().write_file(path, content); });
  }
  [[nodiscard]] bool exists(const Path& path) override { return real().exists(path); }
  [[nodiscard]] std::uint64_t file_bytes(const Path& path) override {
    return real().file_bytes(path);
  }
  [[nodiscard]] std::vector<std::string> list(const Path& directory) override {
    return real().list(directory);
  }
  [[nodiscard]] std::uint64_t free_bytes(const Path& directory) override {
    return free_bytes_ > 0 ? free_bytes_ : real().free_bytes(directory);
  }
  [[nodiscard]] std::string read_file(const Path& path) override { return real().read_file(path); }
  [[nodiscard]] std::unique_ptr<storage::RangeFile> open_ranges(
      const Path& path, storage::RangeAccess access) override {
    return std::make_unique<ScriptedRanges>(*this, name(path), real().open_ranges(path, access));
  }

 private:
  /// Its writes and syncs are steps like all others.
  class ScriptedRanges final : public storage::RangeFile {
   public:
    ScriptedRanges(ScriptedFileSystem& owner, std::string file,
                   std::unique_ptr<storage::RangeFile> real)
        : owner_(owner), file_(std::move(file)), real_(std::move(real)) {}
    void write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
      owner_.step("write_at " + file_, [&] { real_->write_at(offset, bytes); });
    }
    void read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
      real_->read_at(offset, bytes);
    }
    void expect(storage::ReadOrder order) override { real_->expect(order); }
    void sync() override {
      owner_.step("sync " + file_, [&] { real_->sync(); });
    }

   private:
    ScriptedFileSystem& owner_;
    std::string file_;
    std::unique_ptr<storage::RangeFile> real_;
  };
  static FileSystem& real() { return storage::real_file_system(); }
  static std::string name(const Path& path) { return path.filename().string(); }
  void step(const std::string& what, const std::function<void()>& act) {
    const std::lock_guard lock(stepping_);
    const int number = next_step_++;
    const bool fails = number == failing_step_;
    if (fails) fired_ = true;
    if (fails || (fired_ && fault_ == Fault::die)) {
      throw base::WorldError(what, code_, std::strerror(code_));
    }
    act();
    steps_.push_back(what);
  }
  std::mutex stepping_;  ///< bulk data is written by several threads
  int failing_step_ = -1;
  int next_step_ = 0;
  int code_ = ENOSPC;
  Fault fault_ = Fault::refuse;
  bool fired_ = false;
  std::uint64_t free_bytes_ = 0;
  std::vector<std::string> steps_;
};

}  // namespace physarum::test
