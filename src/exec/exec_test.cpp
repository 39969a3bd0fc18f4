// SPDX-License-Identifier: Apache-2.0
#include "testing/gpu_test.h"

namespace upsweep::testing {
namespace {

class Exec : public GpuTest {};
INSTANTIATE_TEST_SUITE_P(, Exec, all_profiles, profile_name);

TEST_P(Exec, ProbeFindsWorkingArithmetic) {
  EXPECT_TRUE(context().probe_report().ran);
  EXPECT_TRUE(context().probe_report().workgroup_atomics);
  EXPECT_TRUE(context().probe_report().integer_division);
}

}  // namespace
}  // namespace upsweep::testing
