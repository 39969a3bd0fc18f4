// SPDX-License-Identifier: Apache-2.0
// Histograms on a device against a look-up of every sample among all edges in f64.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <format>
#include <limits>
#include <memory>
#include <numeric>

#include "primitives/histogram/histogram_reference.h"
#include "testing/generators.h"
#include "testing/gpu_test.h"
#include "upsweep/host.h"

namespace upsweep::testing {
namespace {

using ::testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Samples as they are stored, and as numbers.
struct Samples {
  SampleType type = SampleType::f32;
  std::vector<std::byte> bytes;
  std::vector<double> numbers;
};

template <typename T>
SampleType sample_type() {
  if constexpr (std::same_as<T, std::uint8_t>) return SampleType::u8;
  if constexpr (std::same_as<T, std::uint16_t>) return SampleType::u16;
  if constexpr (std::same_as<T, std::uint32_t>) return SampleType::u32;
  if constexpr (std::same_as<T, std::int32_t>) return SampleType::i32;
  if constexpr (std::same_as<T, Half>) return SampleType::f16;
  return SampleType::f32;
}

template <typename T>
Samples samples_of(const std::vector<T>& items) {
  Samples samples{.type = sample_type<T>(), .bytes = {bytes_of(items).begin(), bytes_of(items).end()}, .numbers = {}};
  for (const T& item : items) {
    if constexpr (std::same_as<T, Half>) {
      samples.numbers.push_back(number_of(item));
    } else {
      samples.numbers.push_back(static_cast<double>(item));
    }
  }
  return samples;
}

template <typename T>
Samples random_samples(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> items(count);
  for (T& item : items) {
    if constexpr (std::same_as<T, Half>) {
      item = {static_cast<std::uint16_t>(random.next())};
    } else if constexpr (std::same_as<T, float>) {
      item = random.between_minus_one_and_one();
    } else {
      item = static_cast<T>(random.next());
    }
  }
  return samples_of(items);
}

/// How one histogram of a test runs, beside its shape.
struct Setting {
  std::optional<HistogramTuning> tuning = {};
  std::uint64_t first_sample = 0;           ///< Bytes of the view's offset, in samples.
  std::vector<std::uint32_t> weights = {};  ///< u32, or bits of f32.
  std::vector<double> edges = {};           ///< In a buffer.
  std::optional<std::uint32_t> count = {};  ///< Of items, read on the device.
};

class HistogramGpu : public GpuTest {
 protected:
  [[nodiscard]] HistogramTuning tuning(const HistogramShape& shape) const {
    if (is_tiny()) return tiny_histogram_tuning();
    HistogramTuning chosen = select_histogram_tuning(shape, context().traits());
    chosen.workgroup_size = std::min(chosen.workgroup_size, GetParam() == Profile::full ? 256u : 64u);
    return chosen;
  }
  [[nodiscard]] HistogramTuning tuning(const HistogramShape& shape, HistogramPath path) const {
    HistogramTuning chosen = tuning(shape);
    chosen.path = path;
    return chosen;
  }

  /// Edges in a buffer are stored as the samples' kind of number.
  static std::vector<std::byte> stored_edges(const std::vector<double>& edges, SampleType type) {
    const auto stored = [&]<typename T>(T) {
      std::vector<T> items;
      for (const double edge : edges) items.push_back(static_cast<T>(edge));
      return std::vector<std::byte>(bytes_of(items).begin(), bytes_of(items).end());
    };
    if (type == SampleType::f16 || type == SampleType::f32) return stored(0.0f);
    return type == SampleType::i32 ? stored(std::int32_t{0}) : stored(std::uint32_t{0});
  }

  static std::uint32_t counted_channels(const HistogramShape& shape) {
    return shape.channel_mask == 0 ? shape.channels : static_cast<std::uint32_t>(std::popcount(shape.channel_mask));
  }

  /// Bins as the device has them: u32, or bits of f32. `before` is what the output holds first.
  std::vector<std::uint32_t> histogram(const Samples& samples, HistogramShape shape, const Setting& setting,
                                       const std::vector<std::uint32_t>& before) {
    shape.sample = samples.type;
    shape.item_count = {samples.numbers.size() / shape.channels, setting.count.has_value()};
    const GuardedBuffer input(context(), samples.bytes, setting.first_sample * bytes_of(samples.type));
    const GuardedBuffer weights(context(), bytes_of(setting.weights), 12);
    const GuardedBuffer edges(context(), stored_edges(setting.edges, samples.type), 20);
    const GuardedBuffer item_count(context(), bytes_of(std::vector{setting.count.value_or(0)}), 4);
    const GuardedBuffer output(context(), bytes_of(before), 28);
    HistogramBuffers buffers{.input = input.view(), .output = output.view()};
    if (!setting.weights.empty()) buffers.weights = weights.view();
    if (!setting.edges.empty()) buffers.edges = edges.view();
    if (setting.count) buffers.item_count = item_count.view();
    run([&](WGPUCommandEncoder encoder) {
      return record_histogram(context(), encoder, shape, buffers, setting.tuning ? *setting.tuning : tuning(shape));
    });
    return items_of<std::uint32_t>(output.read_and_check_guards());
  }

  static std::vector<std::uint32_t> expected(const Samples& samples, const HistogramShape& shape,
                                             const Setting& setting, const std::vector<std::uint32_t>& before) {
    const std::uint64_t items =
        std::min<std::uint64_t>(samples.numbers.size() / shape.channels, setting.count.value_or(0xffffffffu));
    const std::vector<double> edges = reference::edges_of(shape.bins, samples.type, setting.edges);
    if (shape.weights != HistogramWeights::floats) {
      std::vector<std::uint32_t> cells(before.size(), 0);
      reference::add_samples(cells, shape, samples.numbers, edges, setting.weights, items);
      for (std::size_t i = 0; i < cells.size() && shape.accumulate; ++i) cells[i] += before[i];
      return cells;
    }
    std::vector<std::int64_t> units;
    for (const std::uint32_t bits : setting.weights) {
      const double weight =
          std::round(std::ldexp(double{std::bit_cast<float>(bits)}, static_cast<int>(shape.fraction_bits)));
      units.push_back(std::isnan(weight)  ? 0
                      : weight >= 0x1p63  ? std::numeric_limits<std::int64_t>::max()
                      : weight <= -0x1p63 ? -std::numeric_limits<std::int64_t>::max()
                                          : static_cast<std::int64_t>(weight));
    }
    std::vector<std::int64_t> sums(before.size(), 0);
    reference::add_samples(sums, shape, samples.numbers, edges, units, items);
    std::vector<std::uint32_t> cells;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const float sum = std::ldexp(static_cast<float>(sums[i]), -static_cast<int>(shape.fraction_bits));
      cells.push_back(std::bit_cast<std::uint32_t>(shape.accumulate ? std::bit_cast<float>(before[i]) + sum : sum));
    }
    return cells;
  }

  void check(const Samples& samples, const HistogramShape& shape, const Setting& setting = {}) {
    SCOPED_TRACE(std::format("{} {} from {}, {} bins, {} channels{}, path {}", samples.numbers.size(),
                             to_string(samples.type), setting.first_sample, shape.bins.count, shape.channels,
                             setting.count ? std::format(", {} on the device", *setting.count) : "",
                             setting.tuning ? to_string(setting.tuning->path) : "of the library"));
    std::vector<std::uint32_t> before(std::size_t{shape.bins.count} * counted_channels(shape), 0x4d4d4d4d);
    expect_items(histogram(samples, shape, setting, before), expected(samples, shape, setting, before));
  }

  [[nodiscard]] std::vector<std::size_t> sizes(const HistogramTuning& used, SampleType type, std::uint32_t most) const {
    const std::size_t word_tile = std::size_t{used.workgroup_size} * used.units_per_thread * 4 / bytes_of(type);
    std::vector<std::size_t> all{0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 33, most};
    for (const std::size_t edge : {word_tile, 4 * word_tile, 8 * word_tile, std::size_t{used.one_workgroup_samples},
                                   4 * word_tile * used.max_workgroups}) {
      for (const std::size_t size : {edge - 1, edge, edge + 1}) all.push_back(size);
    }
    std::ranges::sort(all);
    const auto repeated = std::ranges::unique(all);
    all.erase(repeated.begin(), repeated.end());
    std::erase_if(all, [&](std::size_t size) { return size > most; });
    return all;
  }

  static Samples first(const Samples& samples, std::size_t count) {
    return {.type = samples.type,
            .bytes = {samples.bytes.begin(),
                      samples.bytes.begin() + static_cast<std::ptrdiff_t>(count * bytes_of(samples.type))},
            .numbers = {samples.numbers.begin(), samples.numbers.begin() + static_cast<std::ptrdiff_t>(count)}};
  }

  static HistogramShape even(std::uint32_t bins, double lower, double upper) {
    return {.bins = HistogramBins::even(bins, lower, upper)};
  }
};
INSTANTIATE_TEST_SUITE_P(, HistogramGpu, all_profiles, profile_name);

TEST_P(HistogramGpu, SamplesAreCountedAtEverySizeAroundAThreshold) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t most = affordable(80'000);
  const HistogramShape shape = even(100, -0.8, 0.9);
  const Samples samples = random_samples<float>(most, seed);
  for (const std::size_t count : sizes(tuning(shape), SampleType::f32, most)) {
    check(first(samples, count), shape, {.first_sample = count % 7});
    if (HasFailure()) return;
  }
}

TEST_P(HistogramGpu, LoadsInFlightChangeNothing) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  HistogramShape shape = even(100, -0.8, 0.9);
  HistogramTuning used = tuning(shape);
  used.units_per_thread = 4;
  used.max_workgroups = 3;
  const Samples floats = random_samples<float>(affordable(30'000), seed);
  for (const std::size_t count : sizes(used, SampleType::f32, static_cast<std::uint32_t>(floats.numbers.size()))) {
    check(first(floats, count), shape, {.tuning = used, .first_sample = count % 5});
    if (HasFailure()) return;
  }
  if (!is_thorough()) return;
  // Registers count up to 255 samples a tile: here 240.
  shape = {.sample = SampleType::u8, .bins = HistogramBins::integers(4, 0, 6)};
  used = tuning(shape);
  used.path = HistogramPath::registers;
  used.use_vectors = true;
  used.units_per_thread = is_tiny() ? 15 : 2;
  used.max_workgroups = 3;
  std::vector<std::uint8_t> equal(affordable(40'000), 200);
  check(samples_of(equal), shape, {.tuning = used, .first_sample = 9});
  check(random_samples<std::uint8_t>(affordable(40'000), seed), shape, {.tuning = used, .first_sample = 9});
}

TEST_P(HistogramGpu, PackedSamplesAreCountedAtEverySizeAndOffset) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t most = affordable(50'000);
  const HistogramShape shape{.sample = SampleType::u8, .bins = HistogramBins::integers(200, 10)};
  const Samples samples = random_samples<std::uint8_t>(most, seed);
  std::size_t number = 0;
  for (const std::size_t count : sizes(tuning(shape), SampleType::u8, most)) {
    check(first(samples, count), shape, {.first_sample = ++number % 37});
    if (HasFailure()) return;
  }
}

TEST_P(HistogramGpu, EveryPathGivesTheSameBins) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const Samples samples = random_samples<float>(affordable(30'000), seed);
  for (const std::uint32_t bins : {1u, 7u, 16u, 17u, 300u, 5000u}) {
    const HistogramShape shape = even(bins, -1, 0.75);
    for (const HistogramPath path : {HistogramPath::registers, HistogramPath::workgroup, HistogramPath::cache}) {
      if (path == HistogramPath::registers && bins > 16) continue;
      if (!is_thorough() && (bins == 7 || bins == 300)) continue;
      check(samples, shape, {.tuning = tuning(shape, path), .first_sample = 3});
    }
  }
}

/// Shapes and ways to record that need no run in each profile.
class HistogramShapesGpu : public HistogramGpu {
 protected:
  /// One kernel for any number of bins: the cache has the same slots.
  [[nodiscard]] HistogramTuning one_kernel(const HistogramShape& shape) const {
    HistogramTuning chosen = tuning(shape, HistogramPath::cache);
    chosen.cache_slots = 64;
    chosen.workgroup_size = is_tiny() ? 4 : 64;
    chosen.units_per_thread = 1;
    return chosen;
  }
};
INSTANTIATE_TEST_SUITE_P(, HistogramShapesGpu, profiles_without_limits, profile_name);

/// All edges of even bins, their neighbours among the f32, and numbers of all kinds.
std::vector<float> samples_at_edges(std::uint32_t bins, double lower, double upper, std::uint64_t seed) {
  std::vector<float> items{0.0f, -0.0f, infinity, -infinity, nan, -nan, 1e-45f, -1e-45f, 3.4e38f, -3.4e38f};
  const auto edges = reference::even_edges(bins, lower, upper, true);
  const std::size_t step = edges.size() / 5000 + 1;
  for (std::size_t i = 0; i < edges.size(); i += step) {
    const auto edge = static_cast<float>(edges[i]);
    for (const float item : {edge, std::nextafter(edge, infinity), std::nextafter(edge, -infinity)}) {
      items.push_back(item);
    }
  }
  items.push_back(static_cast<float>(upper));
  items.push_back(std::nextafter(static_cast<float>(upper), infinity));
  items.push_back(std::nextafter(static_cast<float>(upper), -infinity));
  Random random(seed);
  for (int k = 0; k < 1000; ++k) {
    items.push_back(static_cast<float>(lower + (upper - lower) * (0.5 + 0.6 * random.between_minus_one_and_one())));
  }
  return items;
}

TEST_P(HistogramShapesGpu, FloatsAtAndBesideEveryEdgeFallWhereNumPyPutsThem) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::pair<double, double> ranges[] = {
      {0, 1},        {-1, 1},        {0.1, 0.9},   {1e6, 1e6 + 1}, {-3e38, 3e38},   {1e-40, 2e-40},
      {0, 12},       {-1e-3, 1e3},   {-7.7, -0.0}, {1, 1.0000002}, {-1e-45, 1e-45}, {0, 1.5e38},
      {-1e38, 2e37}, {1e-38, 3e-38}, {0, 1e-50},   {5, 5.5},       {16777216, 3e7}};
  const std::vector<std::uint32_t> bin_counts =
      is_thorough() ? std::vector<std::uint32_t>{1, 2, 7, 10, 256, 257, 1000, 4097, 100'000, 1u << 20}
                    : std::vector<std::uint32_t>{3, 100, 4096};
  for (const std::uint32_t bins : bin_counts) {
    for (const auto& [lower, upper] : ranges) {
      SCOPED_TRACE(std::format("{} bins from {} to {}", bins, lower, upper));
      const HistogramShape shape = even(bins, lower, upper);
      check(samples_of(samples_at_edges(bins, lower, upper, seed)), shape, {.tuning = one_kernel(shape)});
      if (HasFailure()) return;
    }
  }
}

TEST_P(HistogramShapesGpu, IntegersAtAndBesideEveryEdgeAreExact) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const auto check_range = [&]<typename T>(T, std::uint32_t bins, double lower, double upper) {
    SCOPED_TRACE(std::format("{} bins from {} to {}", bins, lower, upper));
    constexpr auto least = static_cast<double>(std::numeric_limits<T>::min());
    constexpr auto greatest = static_cast<double>(std::numeric_limits<T>::max());
    std::vector<T> items = random_items<T>(500, seed);
    for (const double number : {least, greatest, 0.0, 1.0, greatest - 1}) items.push_back(static_cast<T>(number));
    const auto edges = reference::even_edges(bins, lower, upper, false);
    for (std::size_t i = 0; i < edges.size(); i += edges.size() / 2000 + 1) {
      for (const double number : {std::floor(edges[i]), std::ceil(edges[i]), edges[i] + 1, edges[i] - 1}) {
        if (number >= least && number <= greatest) items.push_back(static_cast<T>(number));
      }
    }
    const HistogramShape shape = even(bins, lower, upper);
    check(samples_of(items), shape, {.tuning = one_kernel(shape)});
  };
  for (const std::uint32_t bins : {1u, 3u, 256u, 1000u, 65536u, 1000003u}) {
    if (!is_thorough() && bins > 1000) continue;
    check_range(std::uint32_t{}, bins, 0, 4294967296.0);
    check_range(std::uint32_t{}, bins, 0, 4294967295.0);
    check_range(std::uint32_t{}, bins, -100.5, 7e9);
    check_range(std::uint32_t{}, bins, 4294967000.0, 4294967295.0);
    check_range(std::uint32_t{}, bins, 0.25, 0.75);
    check_range(std::int32_t{}, bins, -2147483648.0, 2147483647.0);
    check_range(std::int32_t{}, bins, -2147483648.0, 2147483648.0);
    check_range(std::int32_t{}, bins, -1e300, 1e300);
    check_range(std::int32_t{}, bins, -1000.25, 999.75);
    if (HasFailure()) return;
  }
}

TEST_P(HistogramShapesGpu, SamplesOfEveryTypeAreCounted) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(20'000);
  const auto check_type = [&](const Samples& samples, const HistogramShape& shape) {
    check(samples, shape, {.tuning = tuning(shape), .first_sample = 5});
  };
  check_type(random_samples<std::uint8_t>(count, seed), even(256, 0, 256));
  check_type(random_samples<std::uint16_t>(count, seed), even(100, 1000, 60'000));
  check_type(random_samples<std::uint32_t>(count, seed), even(100, 1000, 4e9));
  check_type(random_samples<std::int32_t>(count, seed), even(100, -2e9, 4e9));
  check_type(random_samples<Half>(count, seed), even(100, -2, 3));
}

TEST_P(HistogramShapesGpu, EveryHalfIsCountedAsItsValue) {
  std::vector<Half> halves;
  for (std::uint32_t bits = 0; bits < 65536; bits += is_tiny() ? 17 : 1) {
    halves.push_back({static_cast<std::uint16_t>(bits)});
  }
  const HistogramShape tiny = even(3000, -1e-4, 1e-4);  // subnormals, too
  check(samples_of(halves), tiny, {.tuning = one_kernel(tiny), .first_sample = 1});
  const HistogramShape edges{.bins =
                                 HistogramBins::between({-infinity, -65504, -1, -6e-8, 0, 6e-8, 1, 65504, infinity})};
  check(samples_of(halves), edges, {.tuning = one_kernel(edges)});
}

TEST_P(HistogramShapesGpu, KnownHistogramsComeOut) {
  const auto counts = [&](const Samples& samples, const HistogramShape& shape) {
    return histogram(samples, shape, {}, std::vector<std::uint32_t>(shape.bins.count, 7));
  };
  using Counts = std::vector<std::uint32_t>;
  EXPECT_EQ(counts(samples_of<std::uint32_t>({2, 6, 7, 2, 3, 0, 2, 2, 6, 999}), even(7, 0, 12)),
            (Counts{1, 5, 0, 2, 1, 0, 0}));
  EXPECT_EQ(counts(samples_of<float>({2, 6, 7, 2, 3, 0, 2, 2, 6, 999}), even(7, 0, 12)), (Counts{1, 5, 0, 2, 1, 0, 0}));
  EXPECT_EQ(counts(samples_of<float>({nan, -5, 0.05f, 0.95f, 1, 2, -infinity, infinity}), even(10, 0, 1)),
            (Counts{1, 0, 0, 0, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(counts(samples_of<float>({0, 1, 2, 3, 4}), even(4, 0, 4)), (Counts{1, 1, 1, 2}));
  EXPECT_EQ(counts(samples_of<std::int32_t>({0, 1, 2, 3, 4}), even(4, 0, 4)), (Counts{1, 1, 1, 2}));
  EXPECT_EQ(counts(samples_of<float>({0.5f, 1, 1.5f, 3, nan}), even(1, 1, 3)), (Counts{3}));
  // numpy.histogram([1, 1, 0, 2], bins=[0, 1, 1, 2])
  EXPECT_EQ(counts(samples_of<float>({1, 1, 0, 2}), {.bins = HistogramBins::between({0, 1, 1, 2})}), (Counts{1, 0, 3}));
  // numpy.histogram([1, 1, 0], bins=[0, 1, 1])
  EXPECT_EQ(counts(samples_of<float>({1, 1, 0}), {.bins = HistogramBins::between({0, 1, 1})}), (Counts{1, 2}));
  // The last bin of integers is no wider than the others, that of even bins is closed.
  EXPECT_EQ(counts(samples_of<std::uint32_t>({0, 3, 4, 7, 8}), {.bins = HistogramBins::integers(2, 0, 2)}),
            (Counts{2, 2}));
  EXPECT_EQ(counts(samples_of<std::uint32_t>({0, 3, 4, 7, 8}), even(2, 0, 8)), (Counts{2, 3}));
}

TEST_P(HistogramShapesGpu, EachOf65536IntegersHasItsBin) {
  const HistogramShape shape = even(65536, 0, 65536);
  // Windows in one profile, the cache in others.
  HistogramTuning used = tuning(shape);
  if (GetParam() != Profile::full) used.path = HistogramPath::cache;
  std::vector<std::uint32_t> items(65536);
  std::iota(items.begin(), items.end(), 0u);
  const Samples samples = samples_of(items);
  EXPECT_EQ(histogram(samples, shape, {.tuning = used}, std::vector<std::uint32_t>(65536, 3)),
            std::vector<std::uint32_t>(65536, 1));
}

TEST_P(HistogramShapesGpu, EqualSortedAndAlternatingSamplesAreCounted) {
  const std::uint32_t count = affordable(1u << 17);
  std::vector<float> equal(count, 0.3f);
  std::vector<float> two(count);
  std::vector<float> sorted(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    two[i] = i % 2 == 0 ? 0.1f : 0.9f;
    sorted[i] = static_cast<float>(i) / static_cast<float>(count);
  }
  for (const std::uint32_t bins : {1u, 2u, 255u, 256u, 257u, 4096u, 4097u}) {
    if (!is_thorough() && bins > 2 && bins != 257) continue;
    for (const auto* items : {&equal, &two, &sorted}) check(samples_of(*items), even(bins, 0, 1));
  }
}

TEST_P(HistogramShapesGpu, ArbitraryEdgesComeFromTheHostOrABuffer) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed);
  const std::uint32_t count = affordable(10'000);
  for (const std::uint32_t bins : {1u, 2u, 5u, 100u}) {
    std::vector<double> floats;
    std::vector<double> integers;
    for (std::uint32_t i = 0; i <= bins; ++i) {
      floats.push_back(random.between_minus_one_and_one());
      integers.push_back(static_cast<std::int32_t>(random.next32()));
    }
    floats.back() = 0;
    std::ranges::sort(floats);
    std::ranges::sort(integers);
    if (bins > 3) floats[2] = floats[3];  // an empty bin
    std::vector<double> words = integers;
    for (double& word : words) word += 2147483648.0;
    std::vector<float> items = random_items<float>(count, seed, Values::unit);
    for (const double edge : floats) items.push_back(static_cast<float>(edge));
    for (const float item : {0.0f, -0.0f, nan, infinity}) items.push_back(item);
    const HistogramShape on_device{.bins = HistogramBins::edges_on_device(bins)};
    const HistogramShape on_host{.bins = HistogramBins::between(floats)};
    check(samples_of(items), on_device, {.tuning = one_kernel(on_device), .edges = floats});
    check(samples_of(items), on_host, {.tuning = one_kernel(on_host)});
    check(random_samples<std::int32_t>(count, seed), on_device, {.tuning = one_kernel(on_device), .edges = integers});
    check(random_samples<std::int32_t>(count, seed), {.bins = HistogramBins::between(integers)},
          {.tuning = one_kernel(on_device)});
    check(random_samples<std::uint32_t>(count, seed), on_device, {.tuning = one_kernel(on_device), .edges = words});
  }
  // Edges of the host are compared exactly, whatever the samples can be.
  std::vector<double> halves{-1e300, 0.1, 0.1000000001, 0.5, 1e300};
  check(random_samples<float>(count, seed), {.bins = HistogramBins::between(halves)});
  halves = {-0.5, 10.5, 10.6, 200.5, 1e300};
  check(random_samples<std::uint8_t>(count, seed), {.bins = HistogramBins::between(halves)});
  // No sample can be in a bin.
  check(random_samples<std::uint8_t>(100, seed), {.bins = HistogramBins::between({0.25, 0.5, 0.75})});
  check(random_samples<std::uint8_t>(100, seed), even(3, 300, 400));
}

TEST_P(HistogramShapesGpu, IntegersFallIntoBinsByValueAndByShift) {
  const std::uint32_t count = affordable(10'000);
  const auto check_bins = [&](const Samples& samples, std::uint32_t bins, std::int64_t first, std::uint32_t shift) {
    const HistogramShape shape{.bins = HistogramBins::integers(bins, first, shift)};
    check(samples, shape, {.tuning = one_kernel(shape), .first_sample = 1});
  };
  const std::uint64_t seed = test_seed();
  check_bins(random_samples<std::uint8_t>(count, seed), 256, 0, 0);
  check_bins(random_samples<std::uint8_t>(count, seed), 20, 250, 0);
  check_bins(random_samples<std::uint16_t>(count, seed), 256, 0, 8);
  check_bins(random_samples<std::uint16_t>(count, seed), 3, 65000, 5);
  check_bins(random_samples<std::uint32_t>(count, seed), 256, 0, 24);
  check_bins(random_samples<std::uint32_t>(count, seed), 5, 4294967295, 31);
  check_bins(random_samples<std::int32_t>(count, seed), 256, -2147483648LL, 24);
  check_bins(random_samples<std::int32_t>(count, seed), 1000, -100'000'000, 18);
}

TEST_P(HistogramShapesGpu, ChannelsOfInterleavedItemsAreCountedApart) {
  const std::uint64_t seed = test_seed();
  const std::uint32_t items = affordable(9000);
  for (const std::uint32_t channels : {2u, 3u, 4u}) {
    for (const std::uint32_t mask : {0u, 1u, (1u << channels) - 2, 1u << (channels - 1)}) {
      if (!is_thorough() && mask != 0 && channels != 4) continue;
      HistogramShape shape = even(40, 0, 256);
      shape.channels = channels;
      shape.channel_mask = mask;
      check(random_samples<std::uint8_t>(std::size_t{items} * channels, seed), shape,
            {.tuning = tuning(shape), .first_sample = 3});
      if (channels != 3 || mask > 1) continue;
      shape.bins = HistogramBins::even(40, -1, 1);
      check(random_samples<float>(std::size_t{items} * channels, seed), shape,
            {.tuning = tuning(shape), .first_sample = 2});
    }
  }
}

TEST_P(HistogramShapesGpu, WeightsAreAddedExactly) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  const std::uint32_t count = affordable(9000);
  const auto words = random_items<std::uint32_t>(count, seed);
  std::vector<std::uint32_t> floats;
  for (const float weight : random_items<float>(count, seed, Values::unit)) {
    floats.push_back(std::bit_cast<std::uint32_t>(weight * 1000.0f));
  }
  for (const float weight :
       {nan, infinity, -infinity, 1e-30f, -0.0f, 0x1p-25f, 0x1.8p-24f, -0x1p-25f, 0x1p38f, 1e-45f}) {
    floats.push_back(std::bit_cast<std::uint32_t>(weight));
  }
  floats.erase(floats.begin(), floats.begin() + static_cast<std::ptrdiff_t>(floats.size() - count));
  for (const HistogramPath path : {HistogramPath::workgroup, HistogramPath::cache}) {
    if (!is_thorough() && path == HistogramPath::cache) continue;
    HistogramShape shape = even(50, -1, 1);
    const Samples samples = random_samples<float>(count, seed + 1);
    shape.weights = HistogramWeights::words;
    check(samples, shape, {.tuning = tuning(shape, path), .weights = words});
    shape.weights = HistogramWeights::floats;
    check(samples, shape, {.tuning = tuning(shape, path), .weights = floats});
  }
  // One weight for all channels of an item.
  HistogramShape pixels = even(16, 0, 256);
  pixels.channels = 4;
  pixels.channel_mask = 7;
  pixels.weights = HistogramWeights::words;
  check(random_samples<std::uint8_t>(std::size_t{count} * 4, seed), pixels,
        {.tuning = tuning(pixels), .weights = words});
  // Halves of units, and sums that need all of 64 bits.
  HistogramShape coarse = even(5, -1, 1);
  coarse.weights = HistogramWeights::floats;
  for (const std::uint32_t bits : {0u, 3u, 62u}) {
    if (!is_thorough() && bits != 3) continue;
    coarse.fraction_bits = bits;
    std::vector<std::uint32_t> small;
    Random random(seed);
    for (std::uint32_t i = 0; i < 200; ++i) {
      const float weight =
          std::ldexp(std::round(random.between_minus_one_and_one() * 200.0f) / 4.0f, bits == 62 ? -12 : 0);
      small.push_back(std::bit_cast<std::uint32_t>(weight));
    }
    check(random_samples<float>(200, seed), coarse, {.tuning = tuning(coarse), .weights = small});
  }
}

TEST_P(HistogramShapesGpu, OutputsAreAddedToOrOverwritten) {
  const std::uint64_t seed = test_seed();
  const Samples samples = random_samples<float>(affordable(20'000), seed);
  for (const std::uint32_t bins : {2u, 70u, 4000u}) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{20}, samples.numbers.size()}) {
      HistogramShape shape = even(bins, -1, 1);
      shape.accumulate = true;
      check(first(samples, count), shape);
    }
  }
  HistogramShape weighted = even(70, -1, 1);
  weighted.accumulate = true;
  weighted.weights = HistogramWeights::floats;
  std::vector<std::uint32_t> ones(500, std::bit_cast<std::uint32_t>(0.5f));
  check(first(samples, 500), weighted, {.weights = ones});
  weighted.accumulate = false;
  check(first(samples, 0), weighted);
}

TEST_P(HistogramShapesGpu, CountsAreReadOnTheDevice) {
  const std::uint32_t most = affordable(30'000);
  const Samples samples = random_samples<float>(most, test_seed());
  for (const std::uint32_t count : {0u, 1u, 5u, 257u, most / 2, most - 1, most, most + 1, 0xffffffffu}) {
    check(samples, even(60, -1, 1), {.count = count});
  }
  HistogramShape pixels = even(60, 0, 256);
  pixels.channels = 3;
  for (const std::uint32_t count : {0u, 1u, most / 6, 0x80000001u}) {
    check(random_samples<std::uint8_t>(std::size_t{most / 3} * 3, 3), pixels, {.count = count});
  }
}

TEST_P(HistogramShapesGpu, OneCommandBufferHoldsManyHistograms) {
  const Samples a = random_samples<float>(affordable(50'000), 1);
  const Samples b = random_samples<float>(700, 2);
  for (const std::uint32_t bins : {4u, 100u, 5000u}) {
    struct Job {
      const Samples& samples;
      GuardedBuffer input, output;
    };
    std::vector<std::unique_ptr<Job>> jobs;
    for (const auto* samples : {&a, &b, &a, &b}) {
      jobs.push_back(std::unique_ptr<Job>(
          new Job{*samples, {context(), samples->bytes, 4}, {context(), bytes_of(unwritten<std::uint32_t>(bins)), 8}}));
    }
    const auto shape_of = [&](const Job& job) {
      HistogramShape shape = even(bins, -1, 1);
      shape.item_count = Count::on_host(job.samples.numbers.size());
      return shape;
    };
    run([&](WGPUCommandEncoder encoder) -> Status {
      // Each twice: the second must not find the counts of the first.
      for (int round = 0; round < 2; ++round) {
        for (const auto& job : jobs) {
          const Status status =
              record_histogram(context(), encoder, shape_of(*job),
                               {.input = job->input.view(), .output = job->output.view()}, tuning(shape_of(*job)));
          if (!status) return status;
        }
      }
      return {};
    });
    for (const auto& job : jobs) {
      const HistogramShape shape = shape_of(*job);
      expect_items(items_of<std::uint32_t>(job->output.read_and_check_guards()),
                   expected(job->samples, shape, {}, std::vector<std::uint32_t>(bins, 0)));
    }
  }
}

TEST_P(HistogramShapesGpu, SamplesAndBinsMayLieInOneBuffer) {
  const std::uint32_t count = affordable(5000);
  const Samples samples = random_samples<float>(count, test_seed());
  std::vector<float> image = items_of<float>(samples.bytes);
  image.resize(count + 256);
  const GuardedBuffer all(context(), bytes_of(image));
  HistogramShape shape = even(64, -1, 1);
  shape.item_count = Count::on_host(count);
  const std::uint64_t first = all.view().offset_bytes;
  const std::uint64_t place = (4 * std::uint64_t{count} + 511) / 256 * 256;
  run([&](WGPUCommandEncoder encoder) {
    return record_histogram(context(), encoder, shape, {.input = all.view(), .output = {all.buffer(), first + place}},
                            tuning(shape));
  });
  const auto words = items_of<std::uint32_t>(all.read_and_check_guards());
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(place / 4);
  expect_items(std::vector<std::uint32_t>(begin, begin + 64),
               expected(samples, shape, {}, std::vector<std::uint32_t>(64, 0)));
}

TEST_P(HistogramShapesGpu, ImpossibleHistogramsAreRefused) {
  const std::vector<std::uint32_t> words(1000, 3);
  const GuardedBuffer all(context(), bytes_of(words));
  const GuardedBuffer other(context(), bytes_of(words));
  HistogramShape shape = even(10, 0, 5);
  shape.sample = SampleType::u32;
  shape.item_count = Count::on_host(100);
  const auto refusal = [&](const HistogramShape& wanted, const HistogramBuffers& buffers) {
    std::string message;
    run([&](WGPUCommandEncoder encoder) -> Status {
      const Status status = record_histogram(context(), encoder, wanted, buffers);
      message = status ? "no error" : status.error().message;
      return {};
    });
    EXPECT_EQ(items_of<std::uint32_t>(all.read_and_check_guards()), words);
    EXPECT_EQ(items_of<std::uint32_t>(other.read_and_check_guards()), words);
    return message;
  };
  const auto at = [&](std::uint64_t word) { return BufferView{all.buffer(), all.view().offset_bytes + 4 * word}; };
  EXPECT_THAT(refusal(shape, {.input = at(0), .output = at(0)}), HasSubstr("overlap"));
  EXPECT_THAT(refusal(shape, {.input = at(0), .output = at(99)}), HasSubstr("overlap"));
  EXPECT_THAT(refusal(shape, {.input = other.view()}), HasSubstr("output has no buffer"));
  EXPECT_THAT(refusal(shape, {.output = at(0)}), HasSubstr("input has no buffer"));
  shape.weights = HistogramWeights::words;
  EXPECT_THAT(refusal(shape, {.input = other.view(), .output = at(0)}), HasSubstr("weights has no buffer"));
  shape.weights = HistogramWeights::none;
  shape.bins = HistogramBins::edges_on_device(10);
  EXPECT_THAT(refusal(shape, {.input = other.view(), .output = at(0)}), HasSubstr("edges has no buffer"));
  shape.bins = HistogramBins::even(0, 0, 1);
  EXPECT_THAT(refusal(shape, {.input = other.view(), .output = at(0)}), HasSubstr("1 to 16777216 bins, not 0"));
}

/// The front for programs that have arrays.
class HistogramHostGpu : public HistogramGpu {};
INSTANTIATE_TEST_SUITE_P(, HistogramHostGpu, ::testing::Values(Profile::full), profile_name);

TEST_P(HistogramHostGpu, HostArraysAreCounted) {
  const std::vector<std::uint8_t> bytes{1, 2, 2, 250, 7};
  const auto counts = host::histogram<std::uint8_t>(context(), bytes, HistogramBins::even(3, 1, 7));
  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  EXPECT_EQ(*counts, (std::vector<std::uint32_t>{3, 0, 1}));
  const std::vector<float> numbers{0.5f, 1.5f, 0.25f};
  const std::vector<float> weights{2.0f, 4.0f, 0.5f};
  HistogramShape shape = even(2, 0, 2);
  shape.item_count = Count::on_host(3);
  shape.weights = HistogramWeights::floats;
  const auto sums = host::histogram_bytes(context(), shape, bytes_of(numbers), bytes_of(weights));
  ASSERT_TRUE(sums.has_value()) << sums.error().message;
  EXPECT_EQ(items_of<float>(*sums), (std::vector<float>{2.5f, 4.0f}));
  const auto message = [&](const HistogramShape& wanted, std::size_t weight_count) {
    const std::vector<float> some(weight_count, 1.0f);
    const auto refused = host::histogram_bytes(context(), wanted, bytes_of(numbers), bytes_of(some));
    return refused ? std::string("no error") : refused.error().message;
  };
  EXPECT_THAT(message(shape, 2), HasSubstr("8 bytes are not the weights of 3 items (12 bytes)"));
  shape.channels = 2;
  EXPECT_THAT(message(shape, 3), HasSubstr("12 bytes are not 6 samples of f32"));
  shape = even(2, 0, 2);
  shape.item_count = Count::on_device(3);
  EXPECT_THAT(message(shape, 0), HasSubstr("known on the host"));
  shape.item_count = Count::on_host(3);
  shape.accumulate = true;
  EXPECT_THAT(message(shape, 0), HasSubstr("begin at 0"));
}

/// Traits that no profile has, put over the device's own.
class HistogramInjectedGpu : public HistogramGpu {};
INSTANTIATE_TEST_SUITE_P(, HistogramInjectedGpu, ::testing::Values(Profile::no_subgroups, Profile::tiny_tiles),
                         profile_name);

TEST_P(HistogramInjectedGpu, InputsLargerThanABindingAreReadWindowByWindow) {
  DeviceTraits traits = context().traits().with_default_limits();
  traits.max_binding_bytes = 1000;
  context().override_traits(traits);
  const Samples floats = random_samples<float>(1900, test_seed());
  const Samples bytes = random_samples<std::uint8_t>(3000, test_seed());
  for (const std::size_t count : {std::size_t{1}, std::size_t{190}, std::size_t{250}, std::size_t{1900}}) {
    check(first(floats, count), even(20, -1, 1), {.first_sample = 1});
    check(first(bytes, count), even(20, 0, 256), {.first_sample = 3});
  }
  check(floats, even(20, -1, 1), {.first_sample = 1, .count = 1000});
  HistogramShape weighted = even(20, 0, 256);
  weighted.channels = 3;
  weighted.weights = HistogramWeights::words;
  check(bytes, weighted, {.weights = random_items<std::uint32_t>(1000, 5)});
  check(bytes, weighted, {.weights = random_items<std::uint32_t>(1000, 5), .count = 777});
}

TEST_P(HistogramInjectedGpu, TwoOrThreeWorkgroupsADimensionFoldIntoThree) {
  const Samples samples = random_samples<float>(affordable(20'000), test_seed());
  for (const std::uint32_t limit : {2u, 3u}) {
    DeviceTraits traits = traits_of(GetParam(), device_traits());
    traits.max_workgroups_per_dimension = limit;
    context().override_traits(traits);
    for (const std::uint32_t bins : {20u, 60u}) {
      const HistogramShape shape = even(bins, -1, 1);
      HistogramTuning chosen = tuning(shape);
      chosen.max_workgroups = limit * limit * limit / 3;
      for (const std::size_t count : {std::size_t{40}, std::size_t{100}, samples.numbers.size()}) {
        check(first(samples, count), shape, {.tuning = chosen});
      }
    }
  }
}

/// Shapes drawn at random from a few kernels.
class HistogramThoroughGpu : public HistogramGpu {};
INSTANTIATE_TEST_SUITE_P(, HistogramThoroughGpu, ::testing::Values(Profile::full, Profile::tiny_tiles), profile_name);

TEST_P(HistogramThoroughGpu, ShapesDrawnAtRandomAreCounted) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed_note(seed));
  Random random(seed + static_cast<std::uint64_t>(GetParam()));
  for (int k = 0; k < (is_tiny() ? 40 : 12) && !HasFailure(); ++k) {
    const std::uint32_t items = 1 + random.below(random.below(2) == 0 ? 90 : affordable(10'000));
    HistogramShape shape;
    shape.channels = random.below(3) == 0 ? 1 + random.below(4) : 1;
    shape.channel_mask = random.below(1u << shape.channels);
    shape.accumulate = random.below(2) == 0;
    const std::uint32_t bins = 1 + random.below(random.below(2) == 0 ? 5 : 300);
    const std::size_t count = std::size_t{items} * shape.channels;
    Samples samples;
    switch (random.below(5)) {
      case 0: samples = random_samples<std::uint8_t>(count, random.next()); break;
      case 1: samples = random_samples<std::uint16_t>(count, random.next()); break;
      case 2: samples = random_samples<std::int32_t>(count, random.next()); break;
      case 3: samples = random_samples<Half>(count, random.next()); break;
      default: samples = random_samples<float>(count, random.next()); break;
    }
    const double width = samples.type == SampleType::f32 || samples.type == SampleType::f16
                             ? 2.0
                             : std::ldexp(1.0, 8 * static_cast<int>(bytes_of(samples.type)));
    const double lower = width * (random.between_minus_one_and_one() - 0.5) * 0.7;
    shape.bins = HistogramBins::even(bins, lower, lower + width * (0.1 + 0.001 * random.below(1000)));
    Setting setting{.tuning = tuning(shape), .first_sample = random.below(70)};
    if (random.below(3) == 0) setting.tuning->path = HistogramPath::cache;
    if (random.below(3) == 0) setting.count = random.below(items + 5);
    if (random.below(3) == 0) {
      shape.weights = HistogramWeights::words;
      setting.weights = random_items<std::uint32_t>(items, random.next());
    }
    check(samples, shape, setting);
  }
}

}  // namespace
}  // namespace upsweep::testing
