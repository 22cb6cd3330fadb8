#pragma once

#include <cstddef>

#include "physarum/base/bytes.hpp"

#include "physarum/sample/batch.hpp"
#include "physarum/sample/lease.hpp"
#include "physarum/sample/sample_group.hpp"

namespace physarum::sample {

/// The wire form: what `write` appends, `read_*` reads back. Reading believes nothing: lengths,
/// enumerators and invariants are checked, and whatever is wrong throws base::MalformedBytes.
void write(base::ByteWriter& out, const SamplingOptions& options);
void write(base::ByteWriter& out, const Prompt& prompt);
void write(base::ByteWriter& out, const Lease& lease);
void write(base::ByteWriter& out, const Sample& sample);
void write(base::ByteWriter& out, const SampleGroup& group);
void write(base::ByteWriter& out, const SampleSummary& summary);
void write(base::ByteWriter& out, const BatchPlan& plan);

/// Every encoding of these has at least so many bytes: bounds a count before memory is taken.
inline constexpr std::size_t least_lease_bytes = 100;
inline constexpr std::size_t least_sample_bytes = 100;
inline constexpr std::size_t least_summary_bytes = 70;

[[nodiscard]] SamplingOptions read_sampling_options(base::ByteReader& in);
[[nodiscard]] Prompt read_prompt(base::ByteReader& in);
[[nodiscard]] Lease read_lease(base::ByteReader& in);
/// Checks the fields, not the invariants (they depend on the group's purpose).
[[nodiscard]] Sample read_sample(base::ByteReader& in);
/// The group's invariants hold afterwards.
[[nodiscard]] SampleGroup read_sample_group(base::ByteReader& in);
[[nodiscard]] SampleSummary read_sample_summary(base::ByteReader& in);
/// Indices are in range and every rank has the same number of micro-batches.
[[nodiscard]] BatchPlan read_batch_plan(base::ByteReader& in);

}  // namespace physarum::sample
