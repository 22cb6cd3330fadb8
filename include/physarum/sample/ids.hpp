#pragma once

#include "physarum/base/ids.hpp"

namespace physarum::sample {

using base::GroupId;
using base::LeaseId;
using base::PromptId;
using base::SampleId;
using base::TokenId;
using base::WeightVersion;

}  // namespace physarum::sample
