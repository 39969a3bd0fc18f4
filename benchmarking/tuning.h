// SPDX-License-Identifier: Apache-2.0
// Knobs of the tunings by name, for experiments: "workgroup_size=512", "path=single_pass".
#pragma once

#include <string>
#include <vector>

#include "upsweep/histogram.h"
#include "upsweep/reduce.h"
#include "upsweep/scan_tuning.h"
#include "upsweep/sort.h"
#include "upsweep/status.h"

namespace upsweep::bench {

// Each of the changes is "knob=value". An error names the knobs that there are.
Status change_tuning(ReduceTuning& tuning, const std::vector<std::string>& changes);
Status change_tuning(ScanTuning& tuning, const std::vector<std::string>& changes);
Status change_tuning(SortTuning& tuning, const std::vector<std::string>& changes);
Status change_tuning(HistogramTuning& tuning, const std::vector<std::string>& changes);

}  // namespace upsweep::bench
