#pragma once

#include <span>
#include <vector>

#include "physarum/weights/publisher.hpp"

namespace physarum::weights::test {

/// Publishes weights that somebody else makes, and notes how they differ from the last ones, as a
/// trainer does.
class NotedPublisher {
 public:
  explicit NotedPublisher(Publisher& publisher) : publisher_(publisher) {}
  PublishResult publish(base::WeightVersion version, std::span<const float> flat,
                        const base::Deadline& deadline) {
    note(flat);
    return publisher_.publish(version, values_, deadline);
  }
  /// A step that may be followed by others before a publish.
  void note(std::span<const float> flat) {
    values_.resize(flat.size());
    publisher_.changes().update(values_, flat, {0, std::ssize(flat)});
  }

 private:
  Publisher& publisher_;
  std::vector<float> values_;
};

}  // namespace physarum::weights::test
