// SPDX-License-Identifier: Apache-2.0
// Knobs of the tunings by name, for experiments: "workgroup_size=512", "path=single_pass".
#pragma once

#include <string>
#include <vector>

#include "upsweep/histogram.h"
#include "upsweep/merge_sort.h"
#include "upsweep/reduce.h"
#include "upsweep/scan_tuning.h"
#include "upsweep/search.h"
#include "upsweep/sort.h"
#include "upsweep/spmv.h"
#include "upsweep/status.h"
#include "upsweep/top_k.h"

namespace upsweep::bench {

// Each of the changes is "knob=value". An error names the knobs that there are.
Status change_tuning(ReduceTuning& tuning, const std::vector<std::string>& changes);
Status change_tuning(ScanTuning& tuning, const std::vector<std::string>& changes);
Status change_tuning(SortTuning& tuning, const std::vector<std::string>& changes);
Status change_tuning(MergeSortTuning& tuning, const std::vector<std::string>& changes);
Status change_tuning(SearchTuning& tuning, const std::vector<std::string>& changes);
// Of the search; its compaction and sort have knobs of their own.
Status change_tuning(TopKTuning& tuning, const std::vector<std::string>& changes);
Status change_tuning(HistogramTuning& tuning, const std::vector<std::string>& changes);
Status change_tuning(SpmvTuning& tuning, const std::vector<std::string>& changes);

}  // namespace upsweep::bench
