// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/report.h"

#include <gmock/gmock.h>

#include <sstream>

namespace upsweep::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Timing timing(double median, std::size_t samples = 15) {
  return {.ms = {median, median * 0.5, median * 2, samples}, .repeats = 3, .clock_was_low = false};
}

Measurement row(std::string step, double call_ms) {
  return {.primitive = "reduce",
          .operation = "sum",
          .type = "u32",
          .step = step,
          .title = "title of " + step,
          .item_count = 1 << 20,
          .bytes_moved = 4 << 20,
          .call = timing(call_ms),
          .correct = true,
          .has_plan = step != "cpu",
          .pass_count = 2,
          .scratch_bytes = 512,
          .plan_bytes = 12 << 20,
          .create_ms = 1.5,
          .record_us = 0.75};
}

Report report(std::vector<Measurement> rows) {
  return {.version = "0.1.0",
          .device = "A \"GPU\"",
          .driver = "NVIDIA: back\\slash",
          .backend = "Vulkan",
          .date = "2026-01-02",
          .clock = "GPU timestamps",
          .samples = 15,
          .copy = {.bytes = 8 << 20, .timing = timing(2)},
          .read = {.bytes = 8 << 20, .timing = timing(1)},
          .measurements = std::move(rows)};
}

template <typename Print, typename... Arguments>
std::string printed(Print print, const Arguments&... arguments) {
  std::ostringstream out;
  print(out, arguments...);
  return out.str();
}

void expect_narrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(BenchReport, NamesSizesByTheirPowerOfTwo) {
  EXPECT_EQ(format_items(1 << 20), "2^20");
  EXPECT_EQ(format_items(1024), "2^10");
  EXPECT_EQ(format_items(512), "512");
  EXPECT_EQ(format_items(1000), "1000");
  EXPECT_EQ(format_items(0), "0");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(64 << 10), "64.0 KiB");
  EXPECT_EQ(format_bytes(4 << 20), "4.0 MiB");
  EXPECT_EQ(format_bytes(3ull << 29), "1.5 GiB");
}

TEST(BenchReport, LadderComparesEachStepWithTheCpuAndTheCopy) {
  const std::vector<Measurement> rows{row("cpu", 4.0), row("atomic", 8.0), row("library", 1.0)};
  const std::string text = printed(print_ladder, report(rows), rows);
  // 4 MiB in 4 ms are 1.05 GB/s; the copy moves 8 MiB in 2 ms.
  EXPECT_THAT(text, HasSubstr("title of cpu       4.0000  1.05    25.0%           -       1.00 x"));
  EXPECT_THAT(text, HasSubstr("title of atomic    8.0000  0.52    12.5%       12.00       0.50 x"));
  EXPECT_THAT(text, HasSubstr("title of library   1.0000  4.19   100.0%       12.00       4.00 x"));
  EXPECT_THAT(text, HasSubstr("sum of 2^20 u32 items"));
  expect_narrow(text);
}

TEST(BenchReport, SaysWhatTheColumnsAre) {
  const std::string of_ladder = printed(print_ladder_columns);
  for (const char* column : {"GB/s:", "of copy:", "bytes/item:", "against CPU:"}) {
    EXPECT_THAT(of_ladder, HasSubstr(column));
  }
  const std::string of_sizes = printed(print_size_columns);
  for (const char* column : {"call:", "min..max:", "amortised:", "GB/s:", "of copy, of read:"}) {
    EXPECT_THAT(of_sizes, HasSubstr(column));
  }
  expect_narrow(of_ladder + of_sizes);
}

TEST(BenchReport, SaysThatAnAdapterIsSoftware) {
  Report software = report({});
  EXPECT_THAT(printed(print_header, software), Not(HasSubstr("software")));
  software.is_cpu = true;
  EXPECT_THAT(printed(print_header, software), HasSubstr("nothing about GPUs"));
}

TEST(BenchReport, LadderSaysWhyAStepHasNoTime) {
  std::vector<Measurement> rows{row("cpu", 4.0), row("subgroups", 1.0)};
  rows[1].call.reset();
  rows[1].correct = false;
  rows[1].not_timed = "not on this device";
  const std::string text = printed(print_ladder, report(rows), rows);
  EXPECT_THAT(text, HasSubstr("not on this device"));
  EXPECT_THAT(text, Not(HasSubstr("WRONG")));
}

TEST(BenchReport, WithoutACpuTimeThereIsNoFactor) {
  std::vector<Measurement> rows{row("cpu", 4.0), row("library", 1.0)};
  rows[0].call.reset();
  EXPECT_THAT(printed(print_ladder, report(rows), rows), Not(HasSubstr(" x")));
}

TEST(BenchReport, MarksWrongResultsAndLowClocks) {
  std::vector<Measurement> rows{row("cpu", 4.0), row("atomic", 2.0), row("library", 1.0)};
  rows[1].correct = false;
  rows[2].call->clock_was_low = true;
  const std::string text = printed(print_ladder, report(rows), rows);
  EXPECT_THAT(text, HasSubstr("WRONG RESULT"));
  EXPECT_THAT(text, HasSubstr("low clock"));
}

TEST(BenchReport, SizesShowTheRateOfTheAmortisedTime) {
  Measurement library = row("library", 4.0);
  library.amortised = timing(1.0);
  const std::string text = printed(print_sizes, report({library}));
  EXPECT_THAT(text, HasSubstr("4.0000  2.0000..8.0000     1.0000  4.19   100.0%    50.0%"));
  expect_narrow(text);
}

TEST(BenchReport, PipelinesAreListedOnceAStepAtTheLargestSize) {
  Measurement small = row("library", 1.0);
  Measurement large = row("library", 2.0);
  large.item_count = 1 << 22;
  large.create_ms.reset();
  large.pass_count = 3;
  const std::string text = printed(print_pipelines, report({row("cpu", 1.0), small, large}));
  EXPECT_THAT(text, HasSubstr("reduce sum  u32    2^22       3    512 B                  1.5            0.75"));
  EXPECT_THAT(text, Not(HasSubstr("cpu")));
  EXPECT_THAT(text, Not(HasSubstr("2^20")));
  expect_narrow(text);
}

TEST(BenchReport, JsonHasOneResultAMethodAndEscapesNames) {
  Measurement library = row("library", 4.0);
  library.amortised = timing(1.0);
  const std::string json = to_json(report({row("cpu", 1.0), library}));
  EXPECT_THAT(json, HasSubstr(R"("schema": "upsweep-bench-1")"));
  EXPECT_THAT(json, HasSubstr(R"("device": {"name": "A \"GPU\"", "driver": "back\\slash", "backend": "Vulkan"})"));
  EXPECT_THAT(json,
              HasSubstr(R"("step": "cpu", "items": 1048576, "method": "call", "samples": 15, "median_ms": 1.0000000)"));
  EXPECT_THAT(json, HasSubstr(R"("method": "amortised")"));
  EXPECT_THAT(json, HasSubstr(R"("passes": 2, "scratch_bytes": 512, "create_ms": 1.500, "record_us": 0.750)"));
}

TEST(BenchReport, JsonLeavesOutWhatWasNotTimed) {
  Measurement skipped = row("library", 4.0);
  skipped.call.reset();
  Measurement stood_still = row("library", 0.0);
  stood_still.call = timing(0, 0);
  EXPECT_THAT(to_json(report({skipped, stood_still})), HasSubstr("\"results\": [\n ]}"));
}

TEST(Report, WorkThatIsCountedInFlopsShowsTheirRate) {
  Measurement counted = row("csr", 4.0);
  counted.flops = 8'000'000;
  counted.detail = "5 entries";
  std::ostringstream sizes;
  print_sizes(sizes, report({counted}));
  EXPECT_THAT(sizes.str(), HasSubstr("GFLOP/s"));
  EXPECT_THAT(sizes.str(), HasSubstr("title of csr"));
  std::ostringstream ladder;
  print_ladder(ladder, report({}), {counted});
  EXPECT_THAT(ladder.str(), HasSubstr("(5 entries)"));
  EXPECT_THAT(ladder.str(), HasSubstr("4.0000     2.00"));
  EXPECT_THAT(to_json(report({counted})), HasSubstr("\"flops\": 8000000"));
  std::ostringstream others;
  print_sizes(others, report({row("library", 4.0)}));
  EXPECT_THAT(others.str(), Not(HasSubstr("GFLOP/s")));
}

}  // namespace
}  // namespace upsweep::bench
