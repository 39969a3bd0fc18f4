// SPDX-License-Identifier: Apache-2.0
// The whole public surface.
#pragma once

#include "upsweep/buffer_view.h"
#include "upsweep/context.h"
#include "upsweep/count.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/host.h"
#include "upsweep/operator.h"
#include "upsweep/plan.h"
#include "upsweep/reduce.h"
#include "upsweep/scan.h"
#include "upsweep/status.h"
