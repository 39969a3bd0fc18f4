// SPDX-License-Identifier: Apache-2.0
// run_bench() from end to end, at sizes that take no time.
#include "benchmarking/bench.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <format>
#include <fstream>
#include <random>
#include <sstream>
#include <string_view>

#include "benchmarking/harness.h"
#include "testing/gpu_test.h"

namespace upsweep::testing {
namespace {

using bench::BenchOptions;
using bench::run_bench;
using ::testing::HasSubstr;
using ::testing::Not;

class BenchGpu : public GpuTest {
 protected:
  Status run_with(const BenchOptions& options) {
    table_.str({});
    return run_bench(context(), options, table_, progress_);
  }
  [[nodiscard]] std::string table() const { return table_.str(); }

 private:
  std::ostringstream table_;
  std::ostringstream progress_;
};
INSTANTIATE_TEST_SUITE_P(, BenchGpu, ::testing::Values(Profile::full, Profile::minimum_limits), profile_name);

// What the primitives do in other profiles is their own tests' concern.
class BenchOfScansGpu : public BenchGpu {};
INSTANTIATE_TEST_SUITE_P(, BenchOfScansGpu, ::testing::Values(Profile::full), profile_name);

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Of this process alone: the same test runs on another device at the same time.
std::filesystem::path path_of_report() {
  return std::filesystem::temp_directory_path() / std::format("upsweep_bench_test_{:08x}.json", std::random_device{}());
}

TEST_P(BenchGpu, TheLadderHasEveryStepWithATime) {
  const std::filesystem::path path = path_of_report();
  std::filesystem::remove(path);
  const Status ok =
      run_with({.names = {"reduce"}, .ladder = true, .items = {1000}, .samples = 2, .json_path = path.string()});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  const bool has_subgroups = GetParam() == Profile::full && context().traits().subgroups;
  for (const char* title : {"CPU, one thread", "one atomic per item", "tree, power-of-two stride",
                            "tree, conflict-free", "vec4 loads", "subgroups, one barrier", "the library's choice"}) {
    EXPECT_THAT(table(), HasSubstr(title));
  }
  EXPECT_EQ(table().find("not on this device") == std::string::npos, has_subgroups) << table();
  EXPECT_THAT(table(), Not(HasSubstr("WRONG")));
  const std::string json = file_text(path);
  for (const char* step : {"cpu", "atomic", "tree_interleaved", "tree_sequential", "vectors", "library"}) {
    EXPECT_THAT(json, HasSubstr(std::string("\"step\": \"") + step + "\", \"items\": 1000, \"method\": \"call\""));
  }
  EXPECT_THAT(json, Not(HasSubstr("\"correct\": false")));
  std::filesystem::remove(path);
}

TEST_P(BenchOfScansGpu, TheLadderHasEveryStepWithATime) {
  const Status ok = run_with({.names = {"scan"}, .ladder = true, .items = {3000}, .types = {"f32"}, .samples = 1});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  for (const char* title : {"CPU, one thread", "Blelloch in workgroup memory", "Blelloch, padded", "Kogge-Stone",
                            "subgroup scan", "subgroup scan, vec4", "reduce, spine, down", "the library, two passes",
                            "the library, one pass", "the library's choice"}) {
    EXPECT_THAT(table(), HasSubstr(title));
  }
  EXPECT_THAT(table(), HasSubstr("ladder of scan: exclusive_sum of 3000 f32 items"));
  EXPECT_THAT(table(), Not(HasSubstr("WRONG")));
}

TEST_P(BenchOfScansGpu, TheLadderOfHistogramHasEveryKindOfSamples) {
  const Status ok = run_with({.names = {"histogram"}, .ladder = true, .items = {3000}, .samples = 1});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  for (const char* text : {"CPU, one thread", "one global atomic per sample", "atomics in workgroup memory",
                           "counters of each thread", "the library's choice", "even_256 of 3000 f32 items",
                           "even_256_constant", "even_256_sorted", "even_256_skewed"}) {
    EXPECT_THAT(table(), HasSubstr(text));
  }
  EXPECT_THAT(table(), Not(HasSubstr("WRONG")));
}

TEST_P(BenchOfScansGpu, HistogramsOfOtherBinsAndSamplesCanBeAskedFor) {
  const Status ok = run_with({.names = {"histogram"},
                              .items = {3001},
                              .operation = "even_64_skewed",
                              .samples = 1,
                              .tuning = {"path=cache", "cache_slots=16"}});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_THAT(table(), HasSubstr("histogram even_64_skewed  f32"));
  const auto message = [&](const BenchOptions& options) {
    const Status refused = run_with(options);
    return refused ? std::string("no error") : refused.error().message;
  };
  EXPECT_THAT(message({.names = {"histogram"}, .operation = "even_100"}),
              HasSubstr("N is a power of two, not even_100"));
  EXPECT_THAT(message({.names = {"histogram"}, .types = {"i32"}}), HasSubstr("f32 and u8, not of i32"));
  EXPECT_THAT(message({.names = {"histogram"}, .types = {"u8"}, .operation = "even_256_sorted"}),
              HasSubstr("one kind"));
}

TEST_P(BenchOfScansGpu, TheLadderOfProductsHasEveryStepOnEveryMatrix) {
  const Status ok = run_with({.names = {"spmv"}, .ladder = true, .items = {500}, .samples = 1});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  for (const char* text : {"CPU, one thread", "ELL, row-major", "ELL, slot-major", "CSR, one thread a row",
                           "CSR, a subgroup a row", "CSR, merge path", "Block-ELL, 3 x 3", "the library's choice",
                           "GFLOP/s", "x the memory of csr", "grid5 of 500 f32 items (2410 entries, at most 5 a row)",
                           "grid27", "blocks3", "power_law", "uniform", "dense_row", "diagonal"}) {
    EXPECT_THAT(table(), HasSubstr(text));
  }
  EXPECT_THAT(table(), Not(HasSubstr("WRONG")));
}

TEST_P(BenchOfScansGpu, ProductsInEveryFormatAreTimedAndRight) {
  const std::filesystem::path path = path_of_report();
  const Status ok = run_with({.names = {"spmv"},
                              .items = {300},
                              .samples = 1,
                              .json_path = path.string(),
                              .matrices = {"blocks3"},
                              .formats = {"csr", "coo", "ell", "sell", "sell_sorted", "bell", "hybrid"}});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  const std::string json = file_text(path);
  for (const char* step : {"csr", "coo", "ell", "sell", "sell_sorted", "bell", "hybrid"}) {
    EXPECT_THAT(json,
                HasSubstr(std::format(R"("spmv", "operator": "blocks3", "type": "f32", "step": "{}", "items": 300,)"
                                      R"( "method": "amortised")",
                                      step)));
  }
  EXPECT_THAT(json, HasSubstr("\"flops\": "));
  EXPECT_THAT(json, Not(HasSubstr("\"correct\": false")));
  EXPECT_THAT(table(), HasSubstr("spmv blocks3 bell"));
  std::filesystem::remove(path);
}

TEST_P(BenchOfScansGpu, ProductsWithAGivenMatrixHaveItsSize) {
  const auto matrix = std::make_shared<const bench::CsrMatrix>(bench::CsrMatrix{
      .row_count = 3, .column_count = 2, .row_offsets = {0, 2, 2, 3}, .columns = {0, 1, 1}, .values = {2, 3, 4}});
  const Status ok = run_with({.names = {"spmv"},
                              .ladder = true,
                              .items = {1000},
                              .samples = 1,
                              .given_matrices = {{.name = "mine.mtx", .matrix = matrix}}});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_THAT(table(), HasSubstr("mine.mtx of 3 f32 items (3 entries, at most 2 a row)"));
  EXPECT_THAT(table(), Not(HasSubstr("WRONG")));
}

// One run with all of them, so that the rates are measured once.
TEST_P(BenchOfScansGpu, EveryPrimitiveIsTimedAndRight) {
  const std::filesystem::path path = path_of_report();
  std::filesystem::remove(path);
  const Status ok = run_with({.items = {1, 3000}, .samples = 1, .json_path = path.string()});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  const std::string json = file_text(path);
  for (const char* row :
       {R"("scan", "operator": "exclusive_sum", "type": "u32")",
        R"("scan", "operator": "exclusive_sum", "type": "f32")",
        R"("scan", "operator": "exclusive_sum", "type": "u64")",
        R"("scan", "operator": "inclusive_sum_by_key", "type": "u32")",
        R"("select", "operator": "lower_half", "type": "u32")", R"("unique", "operator": "runs_of_4", "type": "u32")",
        R"("run_length", "operator": "runs_of_4", "type": "u32")",
        R"("reduce_by_key", "operator": "sum", "type": "u32")", R"("histogram", "operator": "even_256", "type": "f32")",
        R"("histogram", "operator": "even_4096", "type": "f32")",
        R"("histogram", "operator": "even_256", "type": "u8")"}) {
    for (const char* method : {"call", "amortised"}) {
      EXPECT_THAT(json, HasSubstr(std::string(R"({"primitive": )") + row +
                                  R"(, "step": "library", "items": 3000, "method": ")" + method));
    }
  }
  EXPECT_THAT(json, Not(HasSubstr("\"correct\": false")));
  std::filesystem::remove(path);
}

TEST_P(BenchOfScansGpu, RunsHaveTheLengthThatIsAskedFor) {
  for (const auto& [name, operation] : {std::pair{"unique", "runs_of_1"},
                                        {"run_length", "runs_of_2"},
                                        {"run_length", "runs_of_100"},
                                        {"reduce_by_key", "sum_in_runs_of_3"}}) {
    SCOPED_TRACE(operation);
    const Status ok = run_with({.names = {name}, .items = {1, 3000}, .operation = operation, .samples = 1});
    ASSERT_TRUE(ok.has_value()) << ok.error().message;
    EXPECT_THAT(table(), HasSubstr(std::format("{} {}", name, operation)));
    EXPECT_THAT(table(), Not(HasSubstr("WRONG")));
  }
  for (const char* operation :
       {"runs_of_0", "runs_of_4097", "runs_of_", "runs_of_4x", "sum_in_runs_of_3", "lower_half"}) {
    SCOPED_TRACE(operation);
    const Status refused = run_with({.names = {"unique"}, .items = {1}, .operation = operation, .samples = 1});
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("runs_of_N, where N is 1 to 4096"));
  }
}

TEST_P(BenchOfScansGpu, TuningsCanBeChanged) {
  const Status ok = run_with({.names = {"scan"},
                              .items = {3000},
                              .types = {"u32"},
                              .operation = "inclusive_sum",
                              .samples = 1,
                              .tuning = {"path=two_pass", "workgroup_size=64", "rows=1", "one_workgroup_items=100"}});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  // Passes of the plan, scratch and the rest: one workgroup would need one.
  EXPECT_THAT(table(), HasSubstr("scan inclusive_sum  u32    3000       2"));
}

TEST_P(BenchGpu, SizesOfBothTypesAreTimedInBothWays) {
  const Status ok = run_with({.names = {"reduce"}, .items = {0, 1, 1000}, .samples = 2});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_THAT(table(), HasSubstr("reduce sum  u32    1000"));
  EXPECT_THAT(table(), HasSubstr("reduce sum  f32    1000"));
  EXPECT_THAT(table(), HasSubstr("not timed: no items"));
}

TEST_P(BenchGpu, OtherOperatorsAreChecked) {
  const Status ok =
      run_with({.names = {"reduce"}, .items = {777}, .types = {"i32", "f32"}, .operation = "argmax", .samples = 1});
  EXPECT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_THAT(table(), HasSubstr("reduce argmax  f32     777"));
}

TEST_P(BenchGpu, SortsAreChecked) {
  const Status ok = run_with({.names = {"sort"}, .items = {3000}, .types = {"u32", "f32", "u64"}, .samples = 1});
  EXPECT_TRUE(ok.has_value()) << ok.error().message;
  // Columns are as wide as their longest entry.
  for (const std::string_view row :
       {"sort keys                       u32    3000", "sort pairs                      u64    3000",
        "sort segments_of_16             u32    3000", "sort pairs_in_segments_of_1000  u32    3000"}) {
    EXPECT_THAT(table(), HasSubstr(std::string(row)));
  }
}

TEST_P(BenchGpu, TopKIsChecked) {
  const Status ok = run_with({.names = {"top_k"}, .items = {3000}, .types = {"u32", "f32"}, .samples = 1});
  EXPECT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_THAT(table(), HasSubstr("top_k k_16"));
  EXPECT_THAT(table(), HasSubstr("top_k median"));
}

TEST_P(BenchGpu, TopKOfEqualKeysInInputOrderIsChecked) {
  const Status ok =
      run_with({.names = {"top_k"}, .items = {5000}, .operation = "k_100_unsorted_constant", .samples = 1});
  EXPECT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_THAT(table(), HasSubstr("top_k k_100_unsorted_constant"));
}

TEST_P(BenchGpu, MergeSortsAndSearchesAreChecked) {
  const Status ok = run_with({.names = {"merge_sort"}, .items = {3000}, .types = {"u32", "f32", "u64"}, .samples = 1});
  EXPECT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_THAT(table(), HasSubstr("merge_sort keys   u32    3000"));
  EXPECT_THAT(table(), HasSubstr("merge_sort pairs  u64    3000"));
  const Status searched = run_with({.names = {"search"}, .items = {3000}, .samples = 1});
  EXPECT_TRUE(searched.has_value()) << searched.error().message;
  EXPECT_THAT(table(), HasSubstr("search sorted_queries  u32    3000"));
}

TEST_P(BenchGpu, TheLadderOfSortRunsAllItsSteps) {
  const Status ok = run_with({.names = {"sort"}, .ladder = true, .items = {5000}, .samples = 1});
  EXPECT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_THAT(table(), HasSubstr("4-bit digits, ranks in workgroup memory"));
  EXPECT_THAT(table(), HasSubstr("one pass a digit, with look-back"));
}

TEST_P(BenchGpu, ImpossibleRequestsAreRefusedBeforeAnythingRuns) {
  const auto refused = [&](const BenchOptions& options) {
    const Status status = run_with(options);
    EXPECT_TRUE(table().empty());
    return !status && status.error().kind == ErrorKind::invalid_request;
  };
  EXPECT_TRUE(refused({.names = {"sorting"}}));
  EXPECT_TRUE(refused({.names = {"sort"}, .operation = "sum"}));
  EXPECT_TRUE(refused({.names = {"top_k"}, .operation = "k_0"}));
  EXPECT_TRUE(refused({.names = {"sort"}, .ladder = true, .operation = "pairs"}));
  EXPECT_TRUE(refused({.names = {"reduce"}, .types = {"u64"}}));
  EXPECT_TRUE(refused({.names = {"scan"}, .types = {"i32"}}));
  EXPECT_TRUE(refused({.names = {"scan", "select"}, .types = {"f32"}}));
  EXPECT_TRUE(refused({.names = {"unique"}, .operation = "sum"}));
  EXPECT_TRUE(refused({.names = {"select"}, .ladder = true}));
  EXPECT_TRUE(refused({.names = {"scan"}, .ladder = true, .types = {"u64"}}));
  EXPECT_TRUE(refused({.names = {"scan"}, .ladder = true, .operation = "inclusive_sum"}));
  EXPECT_TRUE(refused({.names = {"scan"}, .tuning = {"row=1"}}));
  EXPECT_TRUE(refused({.names = {"reduce"}, .tuning = {"path=single_pass"}}));
  EXPECT_TRUE(refused({.names = {"spmv"}, .operation = "sum"}));
  EXPECT_TRUE(refused({.names = {"spmv"}, .types = {"u32"}}));
  EXPECT_TRUE(refused({.names = {"spmv"}, .matrices = {"grid6"}}));
  EXPECT_TRUE(refused({.names = {"spmv"}, .formats = {"bell5"}}));
  EXPECT_TRUE(refused({.names = {"spmv"}, .ladder = true, .formats = {"ell"}}));
  EXPECT_TRUE(refused({.names = {"spmv"}, .tuning = {"lanes=4"}}));
  EXPECT_TRUE(refused({.names = {"scan"}, .matrices = {"grid5"}}));
  EXPECT_TRUE(refused({.types = {"nonsense"}}));
  EXPECT_TRUE(refused({.operation = "nonsense"}));
  EXPECT_TRUE(refused({.ladder = true, .operation = "min"}));
  EXPECT_TRUE(refused({.ladder = true, .types = {"i32"}}));
  EXPECT_TRUE(refused({.types = {"f32"}, .operation = "product"}));
  EXPECT_TRUE(refused({.items = {1ull << 32}}));
  EXPECT_TRUE(refused({.samples = 0}));
  EXPECT_TRUE(refused({.json_path = "/no such folder/bench.json"}));
}

TEST_P(BenchGpu, SizesBeyondTheDeviceHaveNoTime) {
  const Status ok = run_with({.names = {"reduce"}, .items = {0xfffffffe}, .types = {"u32"}, .samples = 1});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_THAT(table(),
              HasSubstr(context().traits().max_buffer_bytes / 4 < 0xfffffffe ? "larger than the device's largest buffer"
                                                                             : "longer than a second"));
}

// No GPU is needed to go the way of one: copies in front of every sample, clock probes, retries, larger buffers.
TEST_P(BenchGpu, TheWayOfAGpuGivesRightResultsAndTimes) {
  DeviceTraits traits = context().traits();
  traits.is_cpu = false;
  traits.max_buffer_bytes = 1 << 20;
  context().override_traits(traits);
  const Status ok = run_with({.names = {"reduce"}, .items = {1000, 1u << 20}, .types = {"u32"}, .samples = 3});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_THAT(table(), HasSubstr("median of 3 samples"));
  EXPECT_THAT(table(), HasSubstr("reduce sum  u32    1000"));
  EXPECT_THAT(table(), HasSubstr("larger than the device's largest buffer"));
}

TEST_P(BenchGpu, WithoutTimestampsTheHostsClockIsUsed) {
  DeviceTraits traits = context().traits();
  traits.timestamps = false;
  context().override_traits(traits);
  const Status ok = run_with({.names = {"reduce"}, .items = {1000}, .types = {"u32"}, .samples = 1});
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_THAT(table(), HasSubstr("wall time"));
}

TEST_P(BenchGpu, AFailingRecorderIsReported) {
  auto buffer = context().create_buffer(4096, "copy");
  ASSERT_TRUE(buffer.has_value());
  auto other = context().create_buffer(4096, "copy");
  ASSERT_TRUE(other.has_value());
  auto harness =
      bench::Harness::create(context(), {.samples = 2, .copy_from = *buffer, .copy_to = *other, .copy_words = 1024});
  ASSERT_TRUE(harness.has_value()) << harness.error().message;
  const auto timing = (*harness)->time(
      bench::Method::call, [](WGPUComputePassEncoder) -> Status { return fail(ErrorKind::internal, "on purpose"); });
  ASSERT_FALSE(timing.has_value());
  EXPECT_EQ(timing.error().message, "on purpose");
  harness->reset();
  wgpuBufferRelease(*buffer);
  wgpuBufferRelease(*other);
}

}  // namespace
}  // namespace upsweep::testing
