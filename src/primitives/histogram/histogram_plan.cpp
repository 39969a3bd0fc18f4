// SPDX-License-Identifier: Apache-2.0
// Plans of histograms: clear the output, count chunks of the samples in registers or workgroup memory, add what each
// workgroup has to the output. Edges are computed here, as NumPy does, and samples compared with them on the device.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <format>
#include <limits>

#include "plan/grid.h"
#include "plan/kernel_builder.h"
#include "plan/narrow.h"
#include "plan/plan_builder.h"
#include "upsweep/histogram.h"

namespace upsweep {
namespace {

constexpr std::uint64_t most_samples = 0xfffffffe;
// Of one dispatch: positions that may pass the end by a chunk must fit into 32 bits.
constexpr std::uint64_t most_window_samples = 0x70000000;
constexpr std::uint32_t most_bins = 1u << 24;
constexpr std::uint32_t clear_words = 4;
constexpr std::uint32_t most_register_cells = 16;
constexpr std::uint32_t most_byte_counts = 255;

bool is_float(SampleType type) { return type == SampleType::f16 || type == SampleType::f32; }

struct Range {
  std::int64_t least = 0;
  std::int64_t greatest = 0;
};

Range values_of(SampleType type) {
  switch (type) {
    case SampleType::u8: return {0, 0xff};
    case SampleType::u16: return {0, 0xffff};
    case SampleType::i32: return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default: return {0, 0xffffffff};
  }
}

// Order-preserving keys, as the histogram_keys.*.wgsl parts have them.
std::uint32_t integer_key(SampleType type, std::int64_t value) {
  return static_cast<std::uint32_t>(value) ^ (type == SampleType::i32 ? 0x80000000u : 0u);
}
std::uint32_t float_key(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return bits ^ ((0u - (bits >> 31)) | 0x80000000u);
}
std::uint32_t lower_key(float value) { return value == 0.0f ? 0x7fffffffu : float_key(value); }
std::uint32_t upper_key(float value) { return value == 0.0f ? 0x80000000u : float_key(value); }

constexpr float infinity = std::numeric_limits<float>::infinity();

// The nearest f32 on either side; beyond the largest lies infinity.
float float_not_below(double number) {
  if (number > std::numeric_limits<float>::max()) return infinity;
  if (number < -std::numeric_limits<float>::max())
    return std::isinf(number) ? -infinity : -std::numeric_limits<float>::max();
  const auto nearest = static_cast<float>(number);
  return double{nearest} < number ? std::nextafter(nearest, infinity) : nearest;
}
float float_not_above(double number) { return -float_not_below(-number); }

// How the device finds the bin of a sample.
struct BinSearch {
  enum class Mode : std::uint8_t { nothing, shift, scaled, near, all };
  Mode mode = Mode::nothing;  // nothing: no sample can be in a bin
  std::uint32_t reachable_bins = 0;
  std::uint32_t first_key = 0;
  std::uint32_t key_span = 0;
  std::uint32_t shift = 0;
  float lower = 0;
  float scale = 0;
  float bias = 0;
  std::uint32_t position_bits = 0;
  std::uint32_t fraction_mask = 0;
  std::uint32_t near = 0;
  std::uint32_t reach = 0;
  bool counts_all = false;               // every value of the type is in a bin
  std::vector<std::uint32_t> edge_keys;  // empty: none needed, or the caller's

  [[nodiscard]] bool has_edges() const { return mode != Mode::nothing && mode != Mode::shift; }
  [[nodiscard]] std::string_view text() const {
    switch (mode) {
      case Mode::nothing: return "no sample can be in a bin";
      case Mode::shift: return "bins by subtraction and shift";
      case Mode::scaled: return "bins by multiplication, compared with an edge where it is near";
      case Mode::near: return "bins by bisection of the edges around a product";
      case Mode::all: return "bins by bisection of all edges";
    }
    return "?";
  }
};

// Edges of integers: a sample is not below an edge if it is not below the next integer. Edges above the greatest value
// leave bins that nothing reaches.
void set_integer_edges(BinSearch& search, SampleType type, std::span<const double> edges) {
  const Range values = values_of(type);
  const auto least = static_cast<double>(values.least);
  const auto greatest = static_cast<double>(values.greatest);
  const double first = std::max(std::ceil(edges.front()), least);
  const double last = std::min(std::floor(edges.back()), greatest);
  search.mode = BinSearch::Mode::nothing;
  if (first > last) return;
  search.mode = BinSearch::Mode::all;
  search.first_key = integer_key(type, static_cast<std::int64_t>(first));
  search.key_span = integer_key(type, static_cast<std::int64_t>(last)) - search.first_key;
  search.reachable_bins = u32(edges.size() - 1);
  while (search.reachable_bins > 1 && edges[search.reachable_bins - 1] > greatest) --search.reachable_bins;
  for (std::size_t i = 0; i <= search.reachable_bins; ++i) {
    const double value = std::clamp(std::ceil(edges[i]), least, greatest);
    search.edge_keys.push_back(integer_key(type, static_cast<std::int64_t>(value)));
  }
}

void set_float_edges(BinSearch& search, std::span<const double> edges) {
  const std::uint32_t first = lower_key(float_not_below(edges.front()));
  const std::uint32_t last = upper_key(float_not_above(edges.back()));
  search.mode = BinSearch::Mode::nothing;
  if (first > last) return;
  search.mode = BinSearch::Mode::all;
  search.first_key = first;
  search.key_span = last - first;
  search.reachable_bins = u32(edges.size() - 1);
  for (const double edge : edges) search.edge_keys.push_back(lower_key(float_not_below(edge)));
}

// Even bins by a product, if its error allows: `error` is what it may be wrong by, `offset` where the first sample that
// counts lies, both in bins.
void choose_product(BinSearch& search, double error, double scale, double offset) {
  search.scale = static_cast<float>(scale);
  search.bias = static_cast<float>(offset);
  // A sum in [2^bits, 2^(bits + 1)): its mantissa is a bin, then `shift` bits of its fraction.
  const int bits = std::bit_width(search.reachable_bins);
  const int shift = std::numeric_limits<float>::digits - 1 - bits;
  // The bias is rounded, and the sum.
  const double units = std::ceil(std::ldexp(error, shift)) + 3;
  if (shift > 0 && units * 4 <= std::ldexp(1.0, shift)) {
    search.mode = BinSearch::Mode::scaled;
    search.bias = static_cast<float>(std::ldexp(1.0, bits) + offset + std::ldexp(units, -shift));
    search.shift = static_cast<std::uint32_t>(shift);
    search.position_bits = std::bit_cast<std::uint32_t>(std::ldexp(1.0f, bits));
    search.fraction_mask = (1u << search.shift) - 1;
    search.near = static_cast<std::uint32_t>(2 * units);
  } else if (std::isfinite(search.scale) && error < search.reachable_bins / 4.0) {
    search.mode = BinSearch::Mode::near;
    search.reach = static_cast<std::uint32_t>(std::ceil(error)) + 1;
  }
}

// numpy.linspace(lower, upper, count + 1) in f64.
std::vector<double> even_edges(const HistogramBins& bins) {
  const double step = (bins.upper - bins.lower) / bins.count;
  std::vector<double> edges(std::size_t{bins.count} + 1);
  for (std::uint32_t i = 0; i < bins.count; ++i) {
    double edge = i * step;  // rounded before the addition, as NumPy's
    edge += bins.lower;
    edges[i] = std::min(edge, bins.upper);
  }
  edges[bins.count] = bins.upper;
  return edges;
}

bool counts_all_values(const BinSearch& search, SampleType type) {
  const Range values = values_of(type);
  return search.first_key == integer_key(type, values.least) &&
         search.key_span == integer_key(type, values.greatest) - search.first_key;
}

BinSearch even_search(const HistogramBins& bins, SampleType type) {
  BinSearch search;
  std::vector<double> edges = even_edges(bins);
  const double width = (bins.upper - bins.lower) / bins.count;
  const double reach = std::max(std::fabs(bins.lower), std::fabs(bins.upper));
  if (is_float(type)) {
    for (double& edge : edges) edge = static_cast<float>(edge);
    set_float_edges(search, edges);
    search.lower = static_cast<float>(bins.lower);
    // A difference and a product of f32 are wrong by less than 2^-23 of their result, the scale, the edges and the
    // lower end by 2^-24, and subnormal numbers may count as 0. Should a compiler distribute the product over the
    // difference, then by 2^-23 of what either of them is multiplied to.
    const bool has_difference = search.lower != 0;
    const double error = bins.count * std::ldexp(has_difference ? 5.0 : 3.0, -24) +
                         std::ldexp(reach, has_difference ? -22 : -24) / width + std::ldexp(1.0, -124) / width;
    // Devices may flush a subnormal scale.
    const bool fits = bins.upper - bins.lower < std::numeric_limits<float>::max() / 2 && width < 0x1p125;
    if (search.mode != BinSearch::Mode::nothing && fits) choose_product(search, error, 1.0 / width, 0.0);
    return search;
  }
  set_integer_edges(search, type, edges);
  if (search.mode == BinSearch::Mode::nothing) return search;
  const Range values = values_of(type);
  const bool begins_inside = bins.lower == std::floor(bins.lower) && bins.lower >= static_cast<double>(values.least);
  const int exponent = std::ilogb(width);
  if (begins_inside && width == std::ldexp(1.0, exponent) && exponent >= 0 && exponent < 32) {
    search.mode = BinSearch::Mode::shift;
    search.shift = static_cast<std::uint32_t>(exponent);
    search.edge_keys.clear();
    search.counts_all = counts_all_values(search, type);
    return search;
  }
  const double first = std::max(std::ceil(bins.lower), static_cast<double>(values.least));
  // Conversion and product are wrong by 2^-23 each, the scale by 2^-24.
  choose_product(search, std::ldexp(bins.count * 2.5, -23), 1.0 / width, (first - bins.lower) / width);
  return search;
}

BinSearch choose_search(const HistogramBins& bins, SampleType type) {
  using Kind = HistogramBins::Kind;
  BinSearch search;
  switch (bins.kind) {
    case Kind::even: return even_search(bins, type);
    case Kind::edges:
      if (is_float(type)) {
        set_float_edges(search, bins.edges);
      } else {
        set_integer_edges(search, type, bins.edges);
      }
      return search;
    case Kind::edges_on_device:
      search.mode = BinSearch::Mode::all;
      search.reachable_bins = bins.count;
      return search;
    case Kind::integers: break;
  }
  search.mode = BinSearch::Mode::shift;
  search.shift = bins.shift;
  search.reachable_bins = bins.count;
  search.first_key = integer_key(type, bins.first);
  const std::int64_t width = std::int64_t{bins.count} << bins.shift;
  search.key_span = u32(static_cast<std::uint64_t>(std::min(width - 1, values_of(type).greatest - bins.first)));
  search.counts_all = counts_all_values(search, type);
  return search;
}

std::string to_string(const HistogramBins& bins) {
  using Kind = HistogramBins::Kind;
  switch (bins.kind) {
    case Kind::even: return std::format("{} even bins from {} to {}", bins.count, bins.lower, bins.upper);
    case Kind::edges: return std::format("{} bins between given edges", bins.count);
    case Kind::edges_on_device: return std::format("{} bins between edges in a buffer", bins.count);
    case Kind::integers:
      return std::format("{} bins of {} integer{} from {}", bins.count, 1ull << bins.shift, bins.shift == 0 ? "" : "s",
                         bins.first);
  }
  return "?";
}

// Everything that is decided before the first pass is planned.
struct Problem {
  const HistogramShape& shape;
  const DeviceTraits& traits;
  HistogramTuning tuning;
  HistogramPath path = HistogramPath::workgroup;
  BinSearch search;
  std::uint32_t channel_mask = 1;
  std::uint64_t cell_count = 0;
  std::uint64_t window_count = 1;  // of the cells
  std::uint32_t window_cells = 0;  // counters have room for so many
  std::uint32_t copies = 1;
  bool has_spare_cell = false;  // counters of a cell behind the window's, for samples in no bin
  bool stores = false;          // one workgroup writes the output

  // Every sample is in a cell.
  [[nodiscard]] bool counts_all() const { return search.counts_all && channel_mask == (1u << shape.channels) - 1; }
  [[nodiscard]] std::uint32_t counter_count() const { return (window_cells + (has_spare_cell ? 1 : 0)) * copies; }
  [[nodiscard]] bool is_fixed() const { return shape.weights == HistogramWeights::floats; }
  [[nodiscard]] std::uint32_t amount_bytes() const { return is_fixed() ? 8 : 4; }
  [[nodiscard]] std::uint32_t sample_bytes() const { return bytes_of(shape.sample); }
  [[nodiscard]] std::uint32_t word_samples() const { return 4 / sample_bytes(); }
  [[nodiscard]] std::uint32_t unit_samples(bool vectors) const { return word_samples() * (vectors ? 4 : 1); }
  [[nodiscard]] std::uint64_t tile_samples(bool vectors) const {
    return std::uint64_t{tuning.workgroup_size} * tuning.units_per_thread * unit_samples(vectors);
  }
};

struct Slots {
  SlotId input;
  SlotId weights;
  SlotId edges;
  SlotId item_count;
  SlotId output;
  SlotId sums;
};

// The samples of a word as 32 bits each.
std::string sample_of(SampleType type, const std::string& word, std::uint32_t k) {
  switch (type) {
    case SampleType::u8:
      return k == 3   ? std::format("{} >> 24u", word)
             : k == 0 ? std::format("{} & 0xffu", word)
                      : std::format("({} >> {}u) & 0xffu", word, 8 * k);
    case SampleType::u16: return k == 1 ? std::format("{} >> 16u", word) : std::format("{} & 0xffffu", word);
    case SampleType::f16:
      return k == 1 ? std::format("widen_half({} >> 16u)", word) : std::format("widen_half({} & 0xffffu)", word);
    default: return word;
  }
}

// Loads of a tile without a branch between them: text, because compilers do not keep arrays of loads in registers
// across a loop.
std::string counting_functions(const Problem& problem, bool vectors) {
  const SampleType type = problem.shape.sample;
  std::string word_text = "fn count_word(word: u32, position: u32) {\n";
  std::string guarded =
      "fn count_guarded_word(index: u32, begin: u32, end: u32) {\n"
      "  let word = input[index];\n  let position = index * WORD_SAMPLES;\n";
  for (std::uint32_t k = 0; k < problem.word_samples(); ++k) {
    const std::string sample = sample_of(type, "word", k);
    const std::string position = k == 0 ? "position" : std::format("position + {}u", k);
    word_text += std::format("  count_sample({}, {});\n", sample, position);
    guarded += std::format("  if ({0} >= begin && {0} < end) {{ count_sample({1}, {0}); }}\n", position, sample);
  }
  std::string tile = "fn count_full_tile(unit: u32) {\n";
  for (std::uint32_t k = 0; k < problem.tuning.units_per_thread; ++k) {
    tile += std::format("  let unit{0} = {1}[unit + {0}u * WORKGROUP_SIZE];\n", k, vectors ? "input_vectors" : "input");
  }
  for (std::uint32_t k = 0; k < problem.tuning.units_per_thread; ++k) {
    const std::string first = std::format("(unit + {}u * WORKGROUP_SIZE) * UNIT_SAMPLES", k);
    for (std::uint32_t word = 0; word < (vectors ? 4u : 1u); ++word) {
      tile += vectors ? std::format("  count_word(unit{}.{}, {} + {}u * WORD_SAMPLES);\n", k, "xyzw"[word], first, word)
                      : std::format("  count_word(unit{}, {});\n", k, first);
    }
  }
  return "fn count_sample(bits: u32, position: u32) {\n"
         "  add_to_cell(cell_of(find_bin(bits), position), amount_of(position));\n}\n" +
         word_text + "}\n" + guarded + "}\n" + tile + "}\n" +
         (vectors ? "@group(0) @binding(2) var<storage, read> input_vectors: array<vec4u>;\n" : "");
}

// Counters in registers: bytes in a tile, words across tiles.
std::string register_functions(std::uint32_t cells) {
  std::string variables;
  std::string add = "fn add_to_cell(cell: u32, amount: Amount) {\n  let one = 1u << ((cell & 3u) * 8u);\n";
  std::string end_tile = "fn end_tile() {\n";
  std::string totals = "fn add_totals() {\n";
  for (std::uint32_t word = 0; word < cells / 4; ++word) {
    variables += std::format("var<private> bytes{}: u32;\n", word);
    add += std::format("  bytes{0} += select(0u, one, (cell >> 2u) == {0}u);\n", word);
  }
  for (std::uint32_t cell = 0; cell < cells; ++cell) {
    variables += std::format("var<private> total{}: u32;\n", cell);
    end_tile += std::format("  total{} += (bytes{} >> {}u) & 0xffu;\n", cell, cell / 4, cell % 4 * 8);
    totals += std::format("  if (total{0} != 0u) {{ add_to_counter({0}u, total{0}); }}\n", cell);
  }
  for (std::uint32_t word = 0; word < cells / 4; ++word) end_tile += std::format("  bytes{} = 0u;\n", word);
  return variables + add + "}\n" + end_tile + "}\n" + totals + "}\n";
}

// Bins of integers as wide as a power of two.
std::string shift_function(const BinSearch& search) {
  const bool is_last_closed = search.key_span >> search.shift >= search.reachable_bins;
  std::string bin = search.shift == 0 ? "offset" : "offset >> params.shift";
  if (is_last_closed) bin = std::format("min({}, params.bin_count - 1u)", bin);
  return std::format("fn find_bin(bits: u32) -> u32 {{\n  let offset = sample_key(bits){};\n  return {};\n}}\n",
                     search.first_key == 0 ? "" : " - params.first_key",
                     search.counts_all ? bin : std::format("select(NO_CELL, {}, offset <= params.key_span)", bin));
}

void add_bins(KernelBuilder& builder, const Problem& problem) {
  const SampleType type = problem.shape.sample;
  const BinSearch& search = problem.search;
  builder.part(is_float(type)            ? "histogram_keys.floats.wgsl"
               : type == SampleType::i32 ? "histogram_keys.signed.wgsl"
                                         : "histogram_keys.unsigned.wgsl");
  if (type == SampleType::f16) builder.part("histogram_half.wgsl");
  if (search.mode == BinSearch::Mode::shift) {
    builder.generated("bins", shift_function(search));
    return;
  }
  builder.part(search.edge_keys.empty() ? "histogram_edges.caller.wgsl" : "histogram_edges.keys.wgsl");
  const char* position = is_float(type) ? "histogram_position.floats.wgsl" : "histogram_position.integers.wgsl";
  if (search.mode == BinSearch::Mode::scaled) {
    builder.part(position).part("histogram_bin.scaled.wgsl");
  } else if (search.mode == BinSearch::Mode::near) {
    builder.part(position).part("histogram_bounds.near.wgsl").part("histogram_bin.search.wgsl");
  } else {
    builder.part("histogram_bounds.all.wgsl").part("histogram_bin.search.wgsl");
  }
}

std::string window_function(const Problem& problem) {
  const bool is_one = problem.window_count == 1;
  // Adding to a spare cell costs less than asking whether there is a cell to add to.
  const std::string place = problem.has_spare_cell ? "min(cell, WINDOW_CELLS)"
                            : is_one               ? "cell"
                                                   : "(cell - window_first)";
  const std::string counter = problem.copies == 1 ? place : std::format("{} * COPIES + copy", place);
  const bool is_checked = !problem.has_spare_cell && !(is_one && problem.counts_all());
  return std::format("fn add_to_cell(cell: u32, amount: Amount) {{\n  {}add_to_counter({}, amount);{}\n}}\n",
                     is_checked ? std::format("if ({} < WINDOW_CELLS) {{ ", place) : "", counter,
                     is_checked ? " }" : "");
}

void add_counters(KernelBuilder& builder, const Problem& problem) {
  const bool fixed = problem.is_fixed();
  builder.alias("Amount", fixed ? "vec2u" : "u32");
  const std::uint32_t counters = problem.counter_count();
  builder.constant("COUNTER_COUNT", counters);
  builder.more_workgroup_bytes(counters * problem.amount_bytes());
  builder.part(fixed ? "histogram_counters.pairs.wgsl" : "histogram_counters.words.wgsl");
  if (fixed) builder.part("int64.wgsl");
  switch (problem.shape.weights) {
    case HistogramWeights::none: builder.part("histogram_amount.one.wgsl"); break;
    case HistogramWeights::words: builder.part("histogram_amount.words.wgsl"); break;
    case HistogramWeights::floats:
      builder.constant("FRACTION_BITS", problem.shape.fraction_bits).part("histogram_amount.fixed.wgsl");
      break;
  }
  switch (problem.path) {
    case HistogramPath::registers:
      builder.part("histogram_add.registers.wgsl");
      builder.generated("registers", register_functions(problem.window_cells));
      break;
    case HistogramPath::cache: builder.more_workgroup_bytes(counters * 4).part("histogram_add.cache.wgsl"); break;
    default:
      builder.constant("WINDOW_CELLS", problem.window_cells).constant("COPIES", problem.copies);
      builder.part("histogram_add.workgroup.wgsl");
      builder.generated("counting in a window", window_function(problem));
      break;
  }
  builder.part(fixed            ? "histogram_output.pairs.wgsl"
               : problem.stores ? "histogram_output.store.wgsl"
                                : "histogram_output.add.wgsl");
}

Result<std::shared_ptr<const Kernel>> count_kernel(const Problem& problem, bool vectors) {
  KernelBuilder builder("histogram_count");
  builder.workgroup(problem.tuning.workgroup_size, 0);
  builder.part("thread.wgsl").part("entry.plain.wgsl");
  builder.constant("WORD_SAMPLES", problem.word_samples());
  builder.constant("UNIT_SAMPLES", problem.unit_samples(vectors));
  builder.constant("TILE_SAMPLES", u32(problem.tile_samples(vectors)));
  const bool has_channels = problem.shape.channels > 1;
  if (has_channels) builder.constant("CHANNEL_MASK", problem.channel_mask);
  if (has_channels || problem.shape.item_count.read_on_device || problem.shape.weights != HistogramWeights::none) {
    builder.constant("CHANNELS", problem.shape.channels);
  }
  add_bins(builder, problem);
  add_counters(builder, problem);
  builder.part(has_channels ? "histogram_cell.channels.wgsl" : "histogram_cell.single.wgsl");
  builder.generated("counting", counting_functions(problem, vectors));
  builder.part(problem.shape.item_count.read_on_device ? "histogram_extent.device.wgsl" : "histogram_extent.host.wgsl");
  builder.part("grid.wgsl").part("histogram_count.wgsl");
  return std::move(builder).build();
}

Result<std::shared_ptr<const Kernel>> clear_kernel(const Problem& problem) {
  KernelBuilder builder("histogram_clear");
  builder.workgroup(problem.tuning.workgroup_size, 0).constant("CLEAR_WORDS", clear_words);
  builder.part("thread.wgsl").part("entry.plain.wgsl").part("grid.wgsl").part("histogram_clear.wgsl");
  return std::move(builder).build();
}

Result<std::shared_ptr<const Kernel>> result_kernel(const Problem& problem) {
  KernelBuilder builder("histogram_result");
  builder.workgroup(problem.tuning.workgroup_size, 0).constant("FRACTION_BITS", problem.shape.fraction_bits);
  builder.part("thread.wgsl").part("entry.plain.wgsl").part("grid.wgsl");
  builder.generated("adapters", std::format("fn initial_sum(index: u32) -> f32 {{ return {}; }}\n",
                                            problem.shape.accumulate ? "output[index]" : "0.0"));
  builder.part("histogram_result.wgsl");
  return std::move(builder).build();
}

// At least so many counters, a round number of them, so that not every number of bins is a pipeline of its own.
std::uint64_t rounded_cells(std::uint64_t cells) {
  return align_up(std::max<std::uint64_t>(cells, 16), std::max<std::uint64_t>(4, std::bit_floor(cells) / 4));
}

Status choose_path(Problem& problem) {
  const HistogramTuning& tuning = problem.tuning;
  const bool has_weights = problem.shape.weights != HistogramWeights::none;
  // WebGPU counts variables in multiples of 16 bytes.
  const std::uint64_t room = align_down(problem.traits.max_workgroup_bytes, 16) / problem.amount_bytes();
  const std::uint64_t most_cells = std::min<std::uint64_t>(room, tuning.window_bins);
  if (most_cells == 0) {
    return fail(ErrorKind::unsupported, std::format("{} bytes of workgroup memory and windows of {} bins hold no bin.",
                                                    problem.traits.max_workgroup_bytes, tuning.window_bins));
  }
  const std::uint64_t windows = div_ceil(problem.cell_count, most_cells);
  problem.path = tuning.path;
  if (tuning.path == HistogramPath::automatic) {
    problem.path = !has_weights && problem.cell_count <= tuning.register_bins ? HistogramPath::registers
                   : windows <= tuning.max_windows                            ? HistogramPath::workgroup
                                                                              : HistogramPath::cache;
  }
  switch (problem.path) {
    case HistogramPath::registers:
      if (has_weights || problem.cell_count > most_register_cells) {
        return fail(ErrorKind::invalid_request,
                    std::format("Registers count up to {} bins without weights, not {}{}.", most_register_cells,
                                problem.cell_count, has_weights ? " with weights" : ""));
      }
      problem.window_cells = u32(align_up(problem.cell_count, 4));
      return {};
    case HistogramPath::cache: problem.window_cells = tuning.cache_slots; return {};
    default: break;
  }
  problem.window_count = windows;
  problem.window_cells = u32(std::min(rounded_cells(div_ceil(problem.cell_count, windows)), most_cells));
  // Copies as long as full residency does not suffer (gpu with 48 KiB for 2048 threads).
  const std::uint64_t bytes = std::uint64_t{problem.window_cells} * problem.amount_bytes();
  const std::uint64_t budget =
      std::min<std::uint64_t>(std::uint64_t{24} * tuning.workgroup_size, problem.traits.max_workgroup_bytes);
  while (problem.copies * 2 <= tuning.copies && std::uint64_t{problem.copies} * 2 * bytes <= budget)
    problem.copies *= 2;
  problem.has_spare_cell =
      windows == 1 && !problem.counts_all() && std::uint64_t{problem.window_cells + 1} * problem.copies <= room;
  return {};
}

class HistogramPlanner {
 public:
  HistogramPlanner(Problem& problem, const Slots& slots, PlanBuilder plan)
      : problem_(problem), shape_(problem.shape), slots_(slots), plan_(std::move(plan)) {}

  Result<Plan> finish(HistogramOffsets offsets) && {
    const std::uint64_t items = problem_.search.mode == BinSearch::Mode::nothing ? 0 : shape_.item_count.max;
    const std::uint64_t most = window_items(items, offsets);
    if (items != 0 && most == 0) {
      return fail(ErrorKind::unsupported, std::format("A binding of {} bytes is too small for an item of {} samples.",
                                                      problem_.traits.max_binding_bytes, shape_.channels));
    }
    problem_.stores = items != 0 && items <= most && problem_.window_count == 1 && !shape_.accumulate &&
                      problem_.path != HistogramPath::cache && !problem_.is_fixed() &&
                      items * shape_.channels <= problem_.tuning.one_workgroup_samples;
    Status status;
    const bool has_sums = problem_.is_fixed() && items != 0;
    if (has_sums) slots_.sums = plan_.scratch("sums", problem_.cell_count * 8);
    if (has_sums) {
      status = clear(slots_.sums, problem_.cell_count * 2);
    } else if (!shape_.accumulate && !problem_.stores) {
      status = clear(slots_.output, problem_.cell_count);
    }
    for (std::uint64_t first = 0; status && first < items; first += most) {
      status = count(first, std::min(most, items - first));
    }
    if (status && has_sums) status = store_sums();
    if (!status) return std::unexpected(status.error());
    return std::move(plan_).finish();
  }

 private:
  // Items that one dispatch may read: all, or as many as fit into a binding wherever they begin.
  [[nodiscard]] std::uint64_t window_items(std::uint64_t items, HistogramOffsets offsets) const {
    const std::uint64_t limit = problem_.traits.max_binding_bytes;
    const std::uint64_t alignment = problem_.traits.offset_alignment;
    const std::uint64_t item_bytes = std::uint64_t{shape_.channels} * problem_.sample_bytes();
    const std::uint64_t most = most_window_samples / shape_.channels;
    const auto fits = [&](std::uint64_t offset, std::uint64_t bytes) {
      return align_up(offset % alignment + bytes, 4) <= limit;
    };
    if (items <= most && fits(offsets.input_bytes, items * item_bytes) &&
        (!has_weights() || fits(offsets.weights_bytes, items * 4))) {
      return items;
    }
    const std::uint64_t room = align_down(limit, 4) - std::min(align_down(limit, 4), alignment + 4);
    return std::min({most, room / item_bytes, has_weights() ? room / 4 : most});
  }

  Status clear(SlotId slot, std::uint64_t words) {
    const auto kernel = clear_kernel(problem_);
    if (!kernel) return std::unexpected(kernel.error());
    PlanBuilder::Step step;
    step.kernel = *kernel;
    step.workgroup_count = div_ceil(words, std::uint64_t{problem_.tuning.workgroup_size} * clear_words);
    step.params = {{"word_count", u32(words)}};
    bind_output(step, slot);
    step.reason = std::format("{} words of 0", words);
    step.bytes_written = words * 4;
    plan_.dispatch(std::move(step));
    return {};
  }

  // Scratch has no offset that a kernel would have to be told.
  static void bind_output(PlanBuilder::Step& step, SlotId slot) {
    if (slot.kind == SlotKind::scratch) {
      step.bindings.push_back({"output", slot});
      step.params.push_back({"output_first", 0});
    } else {
      step.bindings.push_back({"output", slot, 0, 0, "output_first"});
    }
  }

  Status count(std::uint64_t first_item, std::uint64_t items) {
    const std::uint64_t bytes = problem_.sample_bytes();
    const std::uint64_t samples = items * shape_.channels;
    const bool vectors = problem_.tuning.use_vectors && samples * bytes >= 16;
    const auto kernel = count_kernel(problem_, vectors);
    if (!kernel) return std::unexpected(kernel.error());
    const std::uint64_t tile = problem_.tile_samples(vectors);
    // Samples may begin anywhere in a unit.
    const std::uint64_t tiles = div_ceil(samples + problem_.unit_samples(vectors) - 1, tile);
    // As many samples as counters at least: clearing and adding up must not cost more than counting.
    const std::uint64_t least_tiles = std::min(tiles, div_ceil(problem_.counter_count(), tile));
    const std::uint64_t chunk_tiles =
        problem_.stores ? tiles : std::max(least_tiles, div_ceil(tiles, problem_.tuning.max_workgroups));
    const std::uint64_t chunks = div_ceil(tiles, chunk_tiles);
    const std::uint64_t first = first_item * shape_.channels * bytes;
    PlanBuilder::Step step;
    step.kernel = *kernel;
    step.workgroup_count = chunks * problem_.window_count;
    step.bindings = {{"input", slots_.input, first, samples * bytes, "input_first"}};
    if (vectors) step.bindings.push_back({"input_vectors", slots_.input, first, samples * bytes, "input_first"});
    const BinSearch& search = problem_.search;
    step.params = {{"sample_count", u32(samples)},
                   {"sample_base", u32(first_item * shape_.channels)},
                   {"chunk_tiles", u32(chunk_tiles)},
                   {"chunk_count", u32(chunks)},
                   {"window_count", u32(problem_.window_count)},
                   {"window_cells", problem_.window_cells},
                   {"cell_count", u32(problem_.cell_count)},
                   {"channel_cells", shape_.bins.count},
                   {"bin_count", search.reachable_bins},
                   {"first_key", search.first_key},
                   {"key_span", search.key_span},
                   {"shift", search.shift},
                   {"lower", std::bit_cast<std::uint32_t>(search.lower)},
                   {"scale", std::bit_cast<std::uint32_t>(search.scale)},
                   {"bias", std::bit_cast<std::uint32_t>(search.bias)},
                   {"position_bits", search.position_bits},
                   {"fraction_mask", search.fraction_mask},
                   {"near", search.near},
                   {"reach", search.reach}};
    bind_optional(step, "weights", "weights_first", slots_.weights, first_item * 4, items * 4);
    bind_optional(step, "item_count", "count_first", slots_.item_count, 0, 4);
    if (search.has_edges() && slots_.edges.kind == SlotKind::constant) {
      step.bindings.push_back({"edges", slots_.edges});
      step.params.push_back({"edges_first", 0});
    } else {
      bind_optional(step, "edges", "edges_first", slots_.edges, 0, (std::uint64_t{shape_.bins.count} + 1) * 4);
    }
    bind_output(step, problem_.is_fixed() ? slots_.sums : slots_.output);
    step.reason = std::format("{}, {} a chunk{}{}", counted(samples, "sample"), chunk_tiles * tile,
                              problem_.window_count == 1 ? ""
                                                         : std::format(", {} windows of {} bins", problem_.window_count,
                                                                       problem_.window_cells),
                              problem_.stores ? ", one workgroup" : "");
    step.bytes_read = samples * bytes * problem_.window_count + (has_weights() ? items * 4 : 0);
    step.bytes_written = problem_.cell_count * problem_.amount_bytes();
    plan_.dispatch(std::move(step));
    return {};
  }

  [[nodiscard]] bool has_weights() const { return shape_.weights != HistogramWeights::none; }

  static void bind_optional(PlanBuilder::Step& step, std::string_view variable, std::string_view first_field,
                            SlotId slot, std::uint64_t offset, std::uint64_t bytes) {
    if (step.kernel->find_binding(variable) != nullptr) {
      step.bindings.push_back({variable, slot, offset, bytes, first_field});
    } else {
      step.params.push_back({first_field, 0});
    }
  }

  Status store_sums() {
    const auto kernel = result_kernel(problem_);
    if (!kernel) return std::unexpected(kernel.error());
    PlanBuilder::Step step;
    step.kernel = *kernel;
    step.workgroup_count = div_ceil(problem_.cell_count, problem_.tuning.workgroup_size);
    step.bindings = {{"sums", slots_.sums}};
    step.params = {{"cell_count", u32(problem_.cell_count)}};
    bind_output(step, slots_.output);
    step.reason = std::format("sums of units of 2^-{} as f32", shape_.fraction_bits);
    step.bytes_read = problem_.cell_count * (shape_.accumulate ? 12 : 8);
    step.bytes_written = problem_.cell_count * 4;
    plan_.dispatch(std::move(step));
    return {};
  }

  Problem& problem_;
  const HistogramShape& shape_;
  Slots slots_;
  PlanBuilder plan_;
};

Status check_bins(const HistogramBins& bins, SampleType type) {
  using Kind = HistogramBins::Kind;
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (bins.kind == Kind::edges && bins.edges.size() < 2) {
    return refuse(std::format("{} edges make no bin; a histogram needs at least 2.", bins.edges.size()));
  }
  if (bins.count == 0 || bins.count > most_bins) {
    return refuse(std::format("A histogram has 1 to {} bins, not {}.", most_bins, bins.count));
  }
  switch (bins.kind) {
    case Kind::even: {
      if (!std::isfinite(bins.lower) || !std::isfinite(bins.upper) || !(bins.lower < bins.upper) ||
          !std::isfinite(bins.upper - bins.lower)) {
        return refuse(std::format("Even bins need a finite range whose lower end is below the upper one, not {} to {}.",
                                  bins.lower, bins.upper));
      }
      const double largest = std::max(std::fabs(bins.lower), std::fabs(bins.upper));
      if (is_float(type) && largest > double{std::numeric_limits<float>::max()}) {
        return refuse(std::format("The range {} to {} of even bins does not fit into f32.", bins.lower, bins.upper));
      }
      return {};
    }
    case Kind::edges:
      if (bins.edges.size() != std::size_t{bins.count} + 1) {
        return refuse(std::format("{} bins need {} edges, not {}.", bins.count, bins.count + 1, bins.edges.size()));
      }
      for (std::size_t i = 0; i < bins.edges.size(); ++i) {
        if (std::isnan(bins.edges[i])) return refuse(std::format("Edge {} is NaN.", i));
        if (i != 0 && bins.edges[i] < bins.edges[i - 1]) {
          return refuse(std::format("Edges must ascend: edge {} is {}, edge {} is {}.", i - 1, bins.edges[i - 1], i,
                                    bins.edges[i]));
        }
      }
      return {};
    case Kind::edges_on_device: return {};
    case Kind::integers: {
      if (is_float(type)) return refuse(std::format("Bins of integers do not go with {} samples.", to_string(type)));
      if (bins.shift > 31) return refuse(std::format("A shift of {} is more than 31 bits.", bins.shift));
      const Range values = values_of(type);
      if (bins.first < values.least || bins.first > values.greatest) {
        return refuse(std::format("The first bin begins at {}, which no {} is ({} to {}).", bins.first, to_string(type),
                                  values.least, values.greatest));
      }
      return {};
    }
  }
  return {};
}

Status check_shape(const HistogramShape& shape) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid_request, std::move(message)); };
  if (const Status ok = check_bins(shape.bins, shape.sample); !ok) return ok;
  if (shape.channels == 0 || shape.channels > 4) {
    return refuse(std::format("Items have 1 to 4 channels, not {}.", shape.channels));
  }
  if (shape.channel_mask >> shape.channels != 0) {
    return refuse(std::format("The channel mask {:#x} names channels that items of {} do not have.", shape.channel_mask,
                              shape.channels));
  }
  if (shape.fraction_bits > 62) {
    return refuse(std::format("Fixed point with {} fraction bits; at most 62 are possible.", shape.fraction_bits));
  }
  if (shape.item_count.max > most_samples / shape.channels) {
    return fail(ErrorKind::unsupported,
                std::format("{} items of {} samples are more than a histogram takes ({} samples).",
                            shape.item_count.max, shape.channels, most_samples));
  }
  return {};
}

Status check_tuning(const HistogramTuning& tuning, const HistogramShape& shape) {
  const std::uint32_t unit_samples = 16 / bytes_of(shape.sample);
  const bool fits_bytes = tuning.units_per_thread * unit_samples <= most_byte_counts;
  if (tuning.workgroup_size == 0 || tuning.units_per_thread == 0 || tuning.units_per_thread > 16 || !fits_bytes ||
      tuning.register_bins > most_register_cells || tuning.copies == 0 || tuning.window_bins == 0 ||
      tuning.max_windows == 0 || !std::has_single_bit(tuning.cache_slots) || tuning.max_workgroups == 0) {
    return fail(ErrorKind::invalid_request, std::format("Tuning out of range: {}.", to_string(tuning)));
  }
  return {};
}

}  // namespace

std::string to_string(SampleType type) {
  constexpr std::array names{"u8", "u16", "u32", "i32", "f16", "f32"};
  return names[static_cast<std::size_t>(type)];
}

Result<SampleType> sample_type_from_name(std::string_view name) {
  for (const SampleType type :
       {SampleType::u8, SampleType::u16, SampleType::u32, SampleType::i32, SampleType::f16, SampleType::f32}) {
    if (name == to_string(type)) return type;
  }
  return fail(ErrorKind::invalid_request, std::format("Samples are u8, u16, u32, i32, f16 or f32, not \"{}\".", name));
}

std::uint32_t bytes_of(SampleType type) {
  switch (type) {
    case SampleType::u8: return 1;
    case SampleType::u16:
    case SampleType::f16: return 2;
    default: return 4;
  }
}

Result<Plan> plan_histogram(const HistogramShape& shape, const DeviceTraits& traits,
                            std::optional<HistogramTuning> tuning, HistogramOffsets offsets) {
  if (traits.offset_alignment == 0 || traits.max_binding_bytes == 0) {
    return fail(ErrorKind::invalid_request, "The device traits lack limits.");
  }
  if (const Status ok = check_shape(shape); !ok) return with_context(ok.error(), "planning a histogram");
  const HistogramTuning chosen = tuning.value_or(select_histogram_tuning(shape, traits));
  if (const Status ok = check_tuning(chosen, shape); !ok) return std::unexpected(ok.error());

  Problem problem{.shape = shape, .traits = traits, .tuning = chosen};
  problem.channel_mask = shape.channel_mask != 0 ? shape.channel_mask : (1u << shape.channels) - 1;
  problem.cell_count =
      std::uint64_t{shape.bins.count} * static_cast<std::uint32_t>(std::popcount(problem.channel_mask));
  problem.search = choose_search(shape.bins, shape.sample);
  if (const Status ok = choose_path(problem); !ok) return std::unexpected(ok.error());

  PlanBuilder plan("histogram", traits);
  plan.note(std::format("{} of {} samples; {}", to_string(shape.bins), to_string(shape.sample), problem.search.text()));
  plan.note(std::format("counters: {}", problem.path == HistogramPath::registers ? "registers"
                                        : problem.path == HistogramPath::cache
                                            ? std::format("a cache of {} slots before the output", chosen.cache_slots)
                                        : problem.copies == 1
                                            ? "workgroup memory"
                                            : std::format("{} copies in workgroup memory", problem.copies)));
  plan.note(std::format("tuning: {}", to_string(chosen)));
  const std::uint64_t items = shape.item_count.max;
  const bool has_weights = shape.weights != HistogramWeights::none;
  plan.least_bytes(items * (std::uint64_t{shape.channels} * bytes_of(shape.sample) + (has_weights ? 4 : 0)) +
                   problem.cell_count * 4);
  Slots slots;
  if (items != 0) {
    slots.input = plan.argument("input", items * shape.channels * bytes_of(shape.sample), bytes_of(shape.sample));
    if (has_weights) slots.weights = plan.argument("weights", items * 4, 4);
    if (shape.bins.kind == HistogramBins::Kind::edges_on_device) {
      slots.edges = plan.argument("edges", (std::uint64_t{shape.bins.count} + 1) * 4, 4);
    } else if (problem.search.has_edges()) {
      slots.edges = plan.constant(std::as_bytes(std::span(problem.search.edge_keys)));
    }
    if (shape.item_count.read_on_device) slots.item_count = plan.argument("item_count", 4, 4);
  }
  slots.output = plan.argument("output", problem.cell_count * 4, 4, true);
  return HistogramPlanner(problem, slots, std::move(plan)).finish(offsets);
}

}  // namespace upsweep
