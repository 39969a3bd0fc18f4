// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/tuning.h"

#include <gmock/gmock.h>

namespace upsweep::bench {
namespace {

using ::testing::HasSubstr;

TEST(BenchTuning, KnobsAreTurnedByName) {
  ScanTuning scan;
  ASSERT_TRUE(change_tuning(scan, {"path=single_pass", "workgroup_size=512", "use_vectors=0"}).has_value());
  EXPECT_EQ(scan, (ScanTuning{.path = ScanPath::single_pass, .workgroup_size = 512, .use_vectors = false}));
  ReduceTuning reduce;
  ASSERT_TRUE(change_tuning(reduce, {"units_per_thread=2", "single_pass=0"}).has_value());
  EXPECT_EQ(reduce, (ReduceTuning{.units_per_thread = 2, .single_pass = false}));
}

TEST(BenchTuning, TheLastOfTwoChangesCounts) {
  ScanTuning scan;
  ASSERT_TRUE(change_tuning(scan, {"rows=2", "rows=5"}).has_value());
  EXPECT_EQ(scan.rows, 5u);
}

TEST(BenchTuning, MistakesAreNamed) {
  const auto message = [](const char* change) {
    ScanTuning scan;
    const Status status = change_tuning(scan, {change});
    EXPECT_FALSE(status.has_value()) << change;
    EXPECT_EQ(scan, ScanTuning{});
    return status ? std::string() : status.error().message;
  };
  EXPECT_THAT(message("row=2"), HasSubstr("There is no knob row; there are: path, workgroup_size, rows"));
  EXPECT_THAT(message("rows"), HasSubstr("knob=value"));
  EXPECT_THAT(message("rows=many"), HasSubstr("takes a number, not \"many\""));
  EXPECT_THAT(message("rows="), HasSubstr("takes a number, not \"\""));
  EXPECT_THAT(message("rows=-1"), HasSubstr("takes a number"));
  EXPECT_THAT(message("rows=4294967296"), HasSubstr("takes a number"));
  EXPECT_THAT(message("use_vectors=2"), HasSubstr("0 or 1, not 2"));
  EXPECT_THAT(message("path=three_pass"), HasSubstr("automatic, two_pass, single_pass"));
}

}  // namespace
}  // namespace upsweep::bench
