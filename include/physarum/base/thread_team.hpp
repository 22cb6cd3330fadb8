#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace physarum::base {

/// A range of indices.
struct IndexRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
/// Part `part` of 0 ... count - 1 in `parts` nearly equal pieces, in whole `unit`s but the last.
[[nodiscard]] IndexRange part_of(std::int64_t count, int part, int parts, std::int64_t unit = 1);

/// Compute threads of one rank that work on the parts of a loop together, again and again. The
/// caller is one of them. Between two loops the others look for the next one for a moment, then
/// they sleep: a team that is not used takes no time from the ranks that share its cores.
class ThreadTeam {
 public:
  /// `threads` >= 1; with 1 no thread is made and run() only calls.
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ThreadTeam(ThreadTeam&&) = delete;
  ThreadTeam& operator=(ThreadTeam&&) = delete;

  [[nodiscard]] int size() const { return size_; }
  /// Calls work(part) once for every part 0 ... size() - 1, 0 on the calling thread, and returns
  /// when all have come back. Takes no memory. If parts throw, one of the exceptions is thrown
  /// here. One caller at a time.
  template <class Work>
  void run(Work&& work) {
    using Callable = std::remove_reference_t<Work>;
    call({[](void* context, int part) { (*static_cast<Callable*>(context))(part); },
          const_cast<void*>(static_cast<const void*>(std::addressof(work)))});
  }

 private:
  struct Job {
    void (*call)(void* context, int part) = nullptr;
    void* context = nullptr;
  };
  void call(Job job);
  void serve(int part);
  void do_part(int part) noexcept;

  int size_;
  Job job_;
  std::atomic<std::uint32_t> round_{0};  ///< one more for every loop
  std::atomic<int> at_work_{0};          ///< threads besides the caller
  std::atomic<bool> ends_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace physarum::base
