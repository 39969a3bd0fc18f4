// SPDX-License-Identifier: Apache-2.0
// The whole public surface.
#pragma once

#include "upsweep/adjacent_difference.h"
#include "upsweep/buffer_view.h"
#include "upsweep/context.h"
#include "upsweep/count.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/histogram.h"
#include "upsweep/host.h"
#include "upsweep/operator.h"
#include "upsweep/partition.h"
#include "upsweep/plan.h"
#include "upsweep/reduce.h"
#include "upsweep/runs.h"
#include "upsweep/scan.h"
#include "upsweep/scan_tuning.h"
#include "upsweep/select.h"
#include "upsweep/sort.h"
#include "upsweep/status.h"
