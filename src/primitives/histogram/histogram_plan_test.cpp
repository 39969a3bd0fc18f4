// SPDX-License-Identifier: Apache-2.0
// Plans of histograms without a device: coverage, limits, paths, edges, refusals, and the golden plans.
#include <bit>
#include <cmath>
#include <cstring>
#include <format>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "primitives/histogram/histogram_reference.h"
#include "testing/tile_plans.h"
#include "upsweep/histogram.h"

namespace upsweep::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

HistogramShape even(std::uint64_t count, std::uint32_t bins, SampleType type = SampleType::f32, double lower = 0,
                    double upper = 1) {
  return {.item_count = Count::on_host(count), .sample = type, .bins = HistogramBins::even(bins, lower, upper)};
}

Plan planned(const HistogramShape& shape, const DeviceTraits& traits = least_traits(),
             std::optional<HistogramTuning> tuning = std::nullopt, HistogramOffsets offsets = {}) {
  auto plan = plan_histogram(shape, traits, tuning, offsets);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::string refusal(const HistogramShape& shape, ErrorKind kind = ErrorKind::invalid_request,
                    const DeviceTraits& traits = least_traits(), std::optional<HistogramTuning> tuning = std::nullopt) {
  const auto plan = plan_histogram(shape, traits, tuning);
  if (plan) return "no error";
  EXPECT_EQ(plan.error().kind, kind) << plan.error().message;
  return plan.error().message;
}

/// Every sample is read by one chunk of each window of the bins, and the windows hold all cells.
void expect_coverage(const Plan& plan, const HistogramShape& shape, const DeviceTraits& traits,
                     HistogramOffsets offsets) {
  const std::uint64_t bytes = bytes_of(shape.sample);
  const std::uint64_t channels =
      shape.channel_mask == 0 ? shape.channels : static_cast<std::uint64_t>(std::popcount(shape.channel_mask));
  std::uint64_t sample = 0;
  std::uint64_t item = 0;
  for (const Dispatch& dispatch : plan.dispatches) {
    if (!is_role(dispatch, "count")) continue;
    const KernelText text(*dispatch.kernel);
    const std::uint64_t tile = text.constant("TILE_SAMPLES");
    const std::uint64_t unit = text.constant("UNIT_SAMPLES");
    const std::uint64_t count = param_of(dispatch, "sample_count");
    const std::uint64_t chunk = param_of(dispatch, "chunk_tiles") * tile;
    const std::uint64_t chunks = param_of(dispatch, "chunk_count");
    const std::uint64_t windows = param_of(dispatch, "window_count");
    EXPECT_GE(chunk * chunks, count + unit - 1) << "samples are left out";
    EXPECT_LT(chunk * (chunks - 1), count + unit - 1) << "a chunk is empty";
    EXPECT_LT(chunk * chunks + traits.offset_alignment + tile, std::uint64_t{1} << 32) << "positions overflow";
    EXPECT_GE(std::uint64_t{dispatch.grid.x} * dispatch.grid.y * dispatch.grid.z, chunks * windows);
    EXPECT_EQ(param_of(dispatch, "cell_count"), shape.bins.count * channels);
    if (dispatch.kernel->text.contains("const WINDOW_CELLS")) {
      EXPECT_GE(param_of(dispatch, "window_cells") * windows, shape.bins.count * channels) << "bins are left out";
      EXPECT_EQ(param_of(dispatch, "window_cells"), text.constant("WINDOW_CELLS"));
    }
    EXPECT_EQ(param_of(dispatch, "sample_base"), sample);
    EXPECT_EQ(count % shape.channels, 0u);
    const BoundRange* input = range_of(dispatch, "input");
    ASSERT_NE(input, nullptr);
    EXPECT_EQ(input->offset_bytes, sample * bytes);
    EXPECT_EQ(input->size_bytes, count * bytes);
    const std::uint64_t lead = (offsets.input_bytes + input->offset_bytes) % traits.offset_alignment;
    EXPECT_LE((lead + input->size_bytes + 3) / 4 * 4, traits.max_binding_bytes);
    if (const BoundRange* weights = range_of(dispatch, "weights")) {
      EXPECT_EQ(weights->offset_bytes, item * 4);
      EXPECT_EQ(weights->size_bytes, count / shape.channels * 4);
      EXPECT_LE((offsets.weights_bytes + weights->offset_bytes) % traits.offset_alignment + weights->size_bytes,
                traits.max_binding_bytes);
    }
    sample += count;
    item += count / shape.channels;
  }
  EXPECT_EQ(sample, shape.item_count.max * shape.channels);
}

TEST(HistogramWalk, EverySampleIsReadOnceAWindow) {
  DeviceTraits small_bindings = least_traits();
  small_bindings.max_binding_bytes = 1000;
  for (const auto& [traits, tuning] : {std::pair{least_traits(), HistogramTuning{}},
                                       {gpu_traits(), HistogramTuning{}},
                                       {least_traits(), tiny_histogram_tuning()},
                                       {least_traits(), tiny_histogram_tuning(HistogramPath::cache)},
                                       {small_bindings, tiny_histogram_tuning()},
                                       {small_bindings, HistogramTuning{}}}) {
    for (const SampleType type : {SampleType::u8, SampleType::f16, SampleType::f32}) {
      for (const std::uint32_t channels : {1u, 3u}) {
        for (const auto weights : {HistogramWeights::none, HistogramWeights::words, HistogramWeights::floats}) {
          for (const std::uint32_t bins : {2u, 30u}) {
            for (const std::uint64_t count : {1u, 5u, 17u, 4097u, 16384u, 16385u, 100'001u}) {
              for (const std::uint64_t first : {0u, 5u}) {
                if (traits.max_binding_bytes == 1000 && count > 20'000) continue;
                HistogramShape shape = even(count, bins, type);
                shape.channels = channels;
                shape.weights = weights;
                const HistogramOffsets offsets{first * bytes_of(type), first * 4};
                SCOPED_TRACE(
                    std::format("{} x {} x {}, {} bins, from {}", count, channels, to_string(type), bins, first));
                const Plan plan = planned(shape, traits, tuning, offsets);
                expect_coverage(plan, shape, traits, offsets);
                expect_limits(plan, traits);
                if (HasFailure()) return;
              }
            }
          }
        }
      }
    }
  }
}

TEST(HistogramWalk, PositionsOfTheLargestInputsDoNotWrap) {
  for (const std::uint64_t count : {0x6fffffffull, 0x70000000ull, 0x70000001ull, 0xfffffffeull}) {
    for (const SampleType type : {SampleType::u8, SampleType::f32}) {
      const HistogramShape shape = even(count, 256, type);
      expect_coverage(planned(shape, gpu_traits()), shape, gpu_traits(), {});
    }
  }
}

TEST(HistogramLimits, NoPlanExceedsTheLeastLimits) {
  DeviceTraits cramped = least_traits();
  cramped.max_workgroup_bytes = 1000;
  for (const DeviceTraits& traits : {least_traits(), emulated_traits(), gpu_traits(), with_limits(3, 0), cramped}) {
    for (const std::uint32_t bins : {1u, 8u, 9u, 16u, 17u, 255u, 1000u, 3000u, 4096u, 4097u, 30'000u, 1u << 20}) {
      for (const std::uint32_t channels : {1u, 4u}) {
        for (const auto weights : {HistogramWeights::none, HistogramWeights::floats}) {
          SCOPED_TRACE(std::format("{} bins, {} channels", bins, channels));
          HistogramShape shape = even(100'000, bins);
          shape.channels = channels;
          shape.weights = weights;
          HistogramTuning tuning = select_histogram_tuning(shape, traits);
          tuning.max_workgroups = std::min(tuning.max_workgroups, 4u);
          tuning.workgroup_size = std::min(tuning.workgroup_size, 256u);
          if (traits.max_workgroup_bytes == 1000) tuning.cache_slots = 64;
          if (traits.max_workgroups_per_dimension == 3 && bins >= 3000) continue;  // too many to clear in 27
          expect_limits(planned(shape, traits, tuning), traits);
          if (HasFailure()) return;
        }
      }
    }
  }
}

std::string counters_of(const HistogramShape& shape, const DeviceTraits& traits) {
  for (const std::string& note : planned(shape, traits).notes) {
    if (note.starts_with("counters: ")) return note.substr(10);
  }
  return "?";
}

TEST(HistogramPlan, BinsTypeAndDeviceDecideWhereSamplesAreCounted) {
  EXPECT_EQ(counters_of(even(1 << 20, 1), least_traits()), "registers");
  EXPECT_EQ(counters_of(even(1 << 20, 8), least_traits()), "registers");
  EXPECT_EQ(counters_of(even(1 << 20, 9), least_traits()), "4 copies in workgroup memory");
  EXPECT_EQ(counters_of(even(1 << 20, 256), least_traits()), "4 copies in workgroup memory");
  EXPECT_EQ(counters_of(even(1 << 20, 4096), least_traits()), "workgroup memory");
  EXPECT_EQ(counters_of(even(1 << 20, 1 << 20), least_traits()), "a cache of 1024 slots before the output");
  HistogramShape weighted = even(1 << 20, 8);
  weighted.weights = HistogramWeights::words;
  EXPECT_THAT(counters_of(weighted, least_traits()), HasSubstr("workgroup memory"));
  // Windows, as long as they are few: 8 of 16 KiB.
  const auto windows = [](std::uint32_t bins, const DeviceTraits& traits) {
    return param_of(planned(even(1 << 20, bins), traits).dispatches.back(), "window_count");
  };
  EXPECT_EQ(windows(4096, least_traits()), 1u);
  EXPECT_EQ(windows(4097, least_traits()), 2u);
  EXPECT_EQ(windows(32768, least_traits()), 8u);
  EXPECT_EQ(counters_of(even(1 << 20, 32769), least_traits()), "a cache of 1024 slots before the output");
  EXPECT_EQ(windows(8192, gpu_traits()), 1u);
  EXPECT_EQ(windows(32769, gpu_traits()), 5u);
}

TEST(HistogramPlan, ManyBinsGetLargeWorkgroupsAndAsManyThreads) {
  EXPECT_EQ(select_histogram_tuning(even(1 << 20, 256), gpu_traits()).workgroup_size, 256u);
  EXPECT_EQ(select_histogram_tuning(even(1 << 20, 4096), gpu_traits()).workgroup_size, 1024u);
  EXPECT_EQ(select_histogram_tuning(even(1 << 20, 4096), least_traits()).workgroup_size, 256u);
  for (const std::uint32_t bins : {2u, 256u, 2000u, 4096u, 8000u}) {
    const HistogramTuning tuning = select_histogram_tuning(even(1 << 20, bins), gpu_traits());
    EXPECT_EQ(tuning.workgroup_size * tuning.max_workgroups, 270'336u) << bins;
  }
}

TEST(HistogramPlan, NvidiaGpusCountInOneCopyByLargeWorkgroups) {
  DeviceTraits traits = gpu_traits();
  traits.adapter_vendor = "nvidia";
  EXPECT_EQ(counters_of(even(1 << 20, 4), traits), "workgroup memory");
  EXPECT_EQ(counters_of(even(1 << 20, 256), traits), "workgroup memory");
  EXPECT_EQ(counters_of(even(1 << 20, 65536), traits), "a cache of 1024 slots before the output");
  const HistogramTuning tuning = select_histogram_tuning(even(1 << 20, 256), traits);
  EXPECT_EQ(tuning.workgroup_size, 1024u);
  EXPECT_EQ(tuning.max_workgroups, 264u);
  EXPECT_EQ(select_histogram_tuning(even(1 << 20, 256), traits.with_default_limits()).workgroup_size, 256u);
}

// Kernels use no subgroups, so only limits and tiny tilings change a plan.
TEST(HistogramPlan, ProfilesThatChangeThePlan) {
  const HistogramShape shape = even(1'000'000, 5000);
  const auto text = [&](const DeviceTraits& traits, std::optional<HistogramTuning> tuning = {}) {
    return to_string(planned(shape, traits, tuning));
  };
  const std::string full = text(gpu_traits());
  DeviceTraits emulated = gpu_traits().without_subgroups();
  emulated.emulated_subgroup_size = 16;
  EXPECT_EQ(text(gpu_traits().without_subgroups()), full);
  EXPECT_EQ(text(emulated), full);
  EXPECT_NE(text(gpu_traits().with_default_limits()), full);
  EXPECT_NE(text(gpu_traits(), tiny_histogram_tuning()), full);
}

TEST(HistogramPlan, SmallInputsNeedOneDispatch) {
  EXPECT_EQ(roles_of(planned(even(16384, 256))), "count");
  EXPECT_EQ(roles_of(planned(even(16385, 256))), "clear count");
  HistogramShape shape = even(100, 256);
  shape.accumulate = true;
  EXPECT_EQ(roles_of(planned(shape)), "count");
  EXPECT_THAT(planned(shape).dispatches[0].kernel->text, HasSubstr("atomicAdd(&output"));
  shape.weights = HistogramWeights::floats;
  EXPECT_EQ(roles_of(planned(shape)), "clear count result");
  shape.accumulate = false;
  EXPECT_EQ(roles_of(planned(shape)), "clear count result");
}

TEST(HistogramPlan, NothingToCountLeavesZeros) {
  HistogramShape shape = even(0, 100);
  EXPECT_EQ(roles_of(planned(shape)), "clear");
  shape.accumulate = true;
  EXPECT_EQ(roles_of(planned(shape)), "");
  // No u8 lies there.
  EXPECT_EQ(roles_of(planned(even(1000, 3, SampleType::u8, 300, 400))), "clear");
  EXPECT_EQ(roles_of(planned(even(1000, 3, SampleType::u32, 0.25, 0.75))), "clear");
}

TEST(HistogramPlan, KernelTextsDependOnNoItemCount) {
  const auto text = [](std::uint64_t count) { return planned(even(count, 300)).dispatches.back().kernel->text; };
  EXPECT_EQ(text(20'000), text(3'000'001));
  // Nor on every number of bins.
  const auto with_bins = [](std::uint32_t bins) { return planned(even(1 << 20, bins)).dispatches.back().kernel->text; };
  EXPECT_EQ(with_bins(3000), with_bins(3001));
}

TEST(HistogramPlan, BytesMovedAreThoseOfTheInputAndTheBins) {
  const Plan plan = planned(even(1 << 20, 256));
  EXPECT_EQ(plan.least_bytes, (4u << 20) + 1024u);
  EXPECT_EQ(plan.bytes_moved(), (4u << 20) + 2 * 1024u);
}

TEST(HistogramPlan, AsksForTheArgumentsOfItsShape) {
  const auto names = [](const HistogramShape& shape) {
    std::set<std::string> all;
    for (const ArgumentSlot& argument : planned(shape).arguments) all.insert(argument.name);
    return all;
  };
  using Names = std::set<std::string>;
  HistogramShape shape = even(100, 10);
  EXPECT_EQ(names(shape), (Names{"input", "output"}));
  shape.weights = HistogramWeights::floats;
  EXPECT_EQ(names(shape), (Names{"input", "weights", "output"}));
  shape.bins = HistogramBins::edges_on_device(10);
  shape.item_count = Count::on_device(100);
  EXPECT_EQ(names(shape), (Names{"input", "weights", "edges", "item_count", "output"}));
  EXPECT_EQ(planned(shape).find_argument("edges")->size_bytes, 44u);
  shape.item_count = Count::on_host(0);
  EXPECT_EQ(names(shape), (Names{"output"}));
  shape = even(100, 10, SampleType::u8);
  shape.channels = 4;
  shape.channel_mask = 7;
  EXPECT_EQ(planned(shape).find_argument("input")->size_bytes, 400u);
  EXPECT_EQ(planned(shape).find_argument("input")->stride_bytes, 1u);
  EXPECT_EQ(planned(shape).find_argument("output")->size_bytes, 120u);
}

/// The edges that a plan hands to its kernel.
std::vector<std::uint32_t> edge_keys(const Plan& plan) {
  std::vector<std::uint32_t> keys(plan.constants.at(0).size() / 4);
  std::memcpy(keys.data(), plan.constants.at(0).data(), keys.size() * 4);
  return keys;
}

std::uint32_t key_of(float value) {
  if (value == 0) return 0x7fffffff;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

TEST(HistogramEdges, AreNumPysLinspace) {
  for (const auto& [lower, upper] : {std::pair{0.1, 0.9}, {-1.0, 1.0}, {1e6, 1e6 + 1}, {-3e38, 3e38}, {1e-40, 2e-40}}) {
    for (const std::uint32_t bins : {1u, 3u, 10u, 257u}) {
      const auto keys = edge_keys(planned(even(1000, bins, SampleType::f32, lower, upper)));
      const auto edges = reference::even_edges(bins, lower, upper, true);
      for (std::uint32_t i = 0; i <= bins; ++i) EXPECT_EQ(keys[i], key_of(static_cast<float>(edges[i]))) << i;
    }
  }
  // numpy.linspace(0.1, 0.9, 4).astype("f4"): 0.1, 0.36666667, 0.6333333, 0.9
  EXPECT_EQ(edge_keys(planned(even(1000, 3, SampleType::f32, 0.1, 0.9))),
            (std::vector<std::uint32_t>{key_of(0.1f), key_of(0.36666667f), key_of(0.6333333f), key_of(0.9f)}));
}

TEST(HistogramEdges, IntegersNeedNoneWhereBinsAreAsWideAsAPowerOfTwo) {
  const auto method = [](const HistogramShape& shape) { return planned(shape).notes.front(); };
  EXPECT_THAT(method(even(100, 256, SampleType::u8, 0, 256)), HasSubstr("subtraction and shift"));
  EXPECT_THAT(method(even(100, 16, SampleType::u32, 0, 4294967296.0)), HasSubstr("subtraction and shift"));
  EXPECT_THAT(method(even(100, 16, SampleType::i32, -64, 64)), HasSubstr("subtraction and shift"));
  EXPECT_THAT(method(even(100, 100, SampleType::u8, 0, 256)), HasSubstr("multiplication"));
  EXPECT_THAT(method(even(100, 16, SampleType::u32, -1, 15)), HasSubstr("multiplication"));
  EXPECT_THAT(method(even(100, 100, SampleType::f32)), HasSubstr("multiplication"));
  EXPECT_THAT(method(even(100, 1 << 21, SampleType::f32)), HasSubstr("around a product"));
  EXPECT_THAT(method(even(100, 100, SampleType::f32, 1, 1.0000002)), HasSubstr("all edges"));
  EXPECT_THAT(method(even(100, 100, SampleType::f32, -3e38, 3e38)), HasSubstr("all edges"));
}

// What histogram_bin.scaled.wgsl relies on: samples that lie further from an edge than the bound get the right bin from
// the product alone.
TEST(HistogramEdges, ProductsAreRightWhereTheyAreTrusted) {
  for (const auto& [lower, upper] : {std::pair{0.0, 1.0}, {-1.0, 1.0}, {0.1, 0.9}, {7.0, 8.0}, {-1e-3, 1e3}}) {
    for (const std::uint32_t bins : {1u, 2u, 10u, 255u, 257u, 4096u}) {
      SCOPED_TRACE(std::format("{} bins from {} to {}", bins, lower, upper));
      const Plan plan = planned(even(100'000, bins, SampleType::f32, lower, upper));
      const Dispatch& count = plan.dispatches.back();
      ASSERT_THAT(count.kernel->text, HasSubstr("params.near"));
      const auto number = [&](std::string_view name) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(param_of(count, name)));
      };
      const auto edges = reference::even_edges(bins, lower, upper, true);
      std::uint32_t trusted = 0;
      for (std::uint32_t k = 0; k < 20'000; ++k) {
        const auto sample = static_cast<float>(lower + (upper - lower) * ((k * 7919u) % 20'000u) / 20'000.0);
        const auto bin = reference::bin_of(edges, sample);
        if (!bin) continue;
        const float position = (sample - number("lower")) * number("scale") + number("bias");
        const std::uint32_t offset =
            std::bit_cast<std::uint32_t>(position) - static_cast<std::uint32_t>(param_of(count, "position_bits"));
        if ((offset & param_of(count, "fraction_mask")) <= param_of(count, "near")) continue;
        ++trusted;
        ASSERT_EQ(offset >> param_of(count, "shift"), *bin) << sample;
      }
      EXPECT_GT(trusted, 15'000u);
    }
  }
}

TEST(HistogramRefusals, RequestsThatMakeNoSenseAreRefused) {
  const auto range = [](double lower, double upper) { return refusal(even(10, 4, SampleType::f32, lower, upper)); };
  EXPECT_THAT(range(1, 1), HasSubstr("below the upper one, not 1 to 1"));
  EXPECT_THAT(range(2, 1), HasSubstr("not 2 to 1"));
  EXPECT_THAT(range(nan, 1), HasSubstr("finite range"));
  EXPECT_THAT(range(0, nan), HasSubstr("finite range"));
  EXPECT_THAT(range(0, infinity), HasSubstr("finite range"));
  EXPECT_THAT(range(0, 1e300), HasSubstr("does not fit into f32"));
  EXPECT_THAT(refusal(even(10, 4, SampleType::i32, -1.7e308, 1.7e308)), HasSubstr("finite range"));
  EXPECT_THAT(refusal(even(10, 0)), AllOf(HasSubstr("1 to 16777216 bins, not 0"), HasSubstr("planning a histogram")));
  EXPECT_THAT(refusal(even(10, (1u << 24) + 1)), HasSubstr("not 16777217"));
  const auto bins = [](HistogramBins wanted, SampleType type = SampleType::f32) {
    return refusal({.item_count = Count::on_host(10), .sample = type, .bins = std::move(wanted)});
  };
  EXPECT_THAT(bins(HistogramBins::between({})), HasSubstr("0 edges make no bin"));
  EXPECT_THAT(bins(HistogramBins::between({1})), HasSubstr("1 edges make no bin"));
  EXPECT_THAT(bins(HistogramBins::between({0, 2, 1})), HasSubstr("edge 1 is 2, edge 2 is 1"));
  EXPECT_THAT(bins(HistogramBins::between({0, nan, 1})), HasSubstr("Edge 1 is NaN"));
  EXPECT_THAT(bins({.kind = HistogramBins::Kind::edges, .count = 3, .edges = {0, 1}}),
              HasSubstr("3 bins need 4 edges"));
  EXPECT_THAT(bins(HistogramBins::integers(4)), HasSubstr("do not go with f32 samples"));
  EXPECT_THAT(bins(HistogramBins::integers(4, 0, 32), SampleType::u32), HasSubstr("32 is more than 31"));
  EXPECT_THAT(bins(HistogramBins::integers(4, 256), SampleType::u8),
              HasSubstr("begins at 256, which no u8 is (0 to 255)"));
  EXPECT_THAT(bins(HistogramBins::integers(4, -1), SampleType::u32), HasSubstr("begins at -1"));
  EXPECT_EQ(bins(HistogramBins::integers(4, -2147483648LL), SampleType::i32), "no error");
  HistogramShape shape = even(10, 4);
  shape.channels = 5;
  EXPECT_THAT(refusal(shape), HasSubstr("1 to 4 channels, not 5"));
  shape.channels = 3;
  shape.channel_mask = 8;
  EXPECT_THAT(refusal(shape), HasSubstr("0x8 names channels that items of 3 do not have"));
  shape = even(10, 4);
  shape.fraction_bits = 63;
  EXPECT_THAT(refusal(shape), HasSubstr("at most 62"));
  EXPECT_THAT(refusal(even(10, 4), ErrorKind::invalid_request, DeviceTraits{.max_binding_bytes = 0}),
              HasSubstr("lack limits"));
}

TEST(HistogramRefusals, LimitsThatTheRequestBreaksAreNamed) {
  EXPECT_THAT(refusal(even(0xffffffff, 4), ErrorKind::unsupported), HasSubstr("4294967295 items of 1 samples"));
  HistogramShape shape = even(0x60000000, 4);
  shape.channels = 3;
  EXPECT_THAT(refusal(shape, ErrorKind::unsupported), HasSubstr("1610612736 items of 3 samples"));
  // 4 x 2^24 bins: 256 MiB.
  shape = even(100, 1 << 24);
  shape.channels = 4;
  EXPECT_THAT(refusal(shape, ErrorKind::unsupported), HasSubstr("limit of one binding (134217728 bytes)"));
  EXPECT_THAT(refusal(even(10, 4), ErrorKind::unsupported, with_limits(0, 8)),
              HasSubstr("A binding of 8 bytes is too small"));
}

TEST(HistogramRefusals, TuningsOutOfRangeAreRefused) {
  const auto tuned = [](HistogramTuning tuning, SampleType type = SampleType::f32, std::uint32_t bins = 20) {
    return refusal(even(10, bins, type), ErrorKind::invalid_request, least_traits(), tuning);
  };
  EXPECT_THAT(tuned({.workgroup_size = 0}), HasSubstr("Tuning out of range"));
  EXPECT_THAT(tuned({.units_per_thread = 17}), HasSubstr("Tuning out of range"));
  EXPECT_THAT(tuned({.units_per_thread = 16}, SampleType::u8), HasSubstr("Tuning out of range"));
  EXPECT_EQ(tuned({.units_per_thread = 15}, SampleType::u8), "no error");
  EXPECT_THAT(tuned({.cache_slots = 100}), HasSubstr("Tuning out of range"));
  EXPECT_THAT(tuned({.path = HistogramPath::registers}), HasSubstr("up to 16 bins without weights, not 20"));
  EXPECT_THAT(refusal(even(10, 4), ErrorKind::unsupported, least_traits(), HistogramTuning{.workgroup_size = 512}),
              HasSubstr("512 threads"));
  EXPECT_THAT(refusal(even(10, 1 << 20), ErrorKind::unsupported, least_traits(), HistogramTuning{.cache_slots = 4096}),
              HasSubstr("Workgroup memory of 32768 bytes"));
}

std::string golden_text() {
  std::string text;
  const auto add = [&](std::string_view title, const Plan& plan) {
    text += std::format("=== {}\n{}\n", title, to_string(plan));
  };
  const HistogramTuning fixed;
  add("1000 f32, 256 even bins, least limits", planned(even(1000, 256), least_traits(), fixed));
  add("1000000 f32, 4 bins in registers", planned(even(1'000'000, 4), least_traits(), fixed));
  add("1000000 u8, 256 bins of integers",
      planned({.item_count = Count::on_host(1'000'000), .sample = SampleType::u8, .bins = HistogramBins::integers(256)},
              least_traits(), fixed));
  add("1000000 f32, 10000 bins in windows", planned(even(1'000'000, 10'000), least_traits(), fixed));
  add("1000000 i32, 1000000 bins by the cache, added to the output",
      planned({.item_count = Count::on_host(1'000'000),
               .sample = SampleType::i32,
               .bins = HistogramBins::even(1'000'000, -1e9, 1e9),
               .accumulate = true},
              least_traits(), fixed));
  add("at most 50000 RGBA pixels of u8, three channels, f32 weights, edges in a buffer",
      planned({.item_count = Count::on_device(50'000),
               .sample = SampleType::u8,
               .bins = HistogramBins::edges_on_device(10),
               .channels = 4,
               .channel_mask = 7,
               .weights = HistogramWeights::floats},
              least_traits(), fixed));
  add("1000 f32 in bindings of 1000 bytes", planned(even(1000, 10), with_limits(0, 1000), tiny_histogram_tuning()));
  add("nothing", planned(even(0, 100), least_traits(), fixed));
  return text;
}

TEST(HistogramPlan, GoldenPlansAreUnchanged) { expect_golden("histogram", golden_text()); }

}  // namespace
}  // namespace upsweep::testing
