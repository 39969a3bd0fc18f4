// SPDX-License-Identifier: Apache-2.0
// upsweep histogram: counts the items of a .npy file in bins, as numpy.histogram does.
#include "upsweep/histogram.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <format>
#include <iostream>
#include <numeric>

#include "array_run.h"
#include "fold.h"
#include "histogram_plot.h"
#include "json_result.h"
#include "outputs.h"

namespace upsweep::cli {
namespace {

using npy::Dtype;

struct HistogramOptions {
  std::string file;
  std::uint32_t bins = 10;
  std::vector<double> range;
  std::string edges;
  std::string weights;
  std::uint32_t channels = 1;
  std::string cast;
  std::string output;
  std::string written_edges;
  std::string svg;
  bool plot = false;
  bool json = false;
};

// The file's items as samples: as they are, or widened.
class SampleFile {
 public:
  static Expected<SampleFile> open(const std::string& path, bool round_to_f4) {
    auto array = npy::Array::open(path);
    if (!array) return refuse(array.error());
    SampleFile file(std::move(*array));
    const Dtype stored = file.array_.dtype();
    const auto as = [&](SampleType type, Dtype read_as) {
      file.type_ = type;
      file.read_as_ = read_as;
    };
    switch (stored) {
      case Dtype::b1:
      case Dtype::u1: as(SampleType::u8, Dtype::u1); break;
      case Dtype::u2: as(SampleType::u16, Dtype::u2); break;
      case Dtype::u4: as(SampleType::u32, Dtype::u4); break;
      case Dtype::i1:
      case Dtype::i2:
      case Dtype::i4: as(SampleType::i32, Dtype::i4); break;
      case Dtype::f2: as(SampleType::f16, Dtype::f2); break;
      case Dtype::f4: as(SampleType::f32, Dtype::f4); break;
      case Dtype::f8: as(SampleType::f32, Dtype::f8); break;
      case Dtype::u8:
      case Dtype::i8:
        return refuse(std::format("{}: {} items are too wide for bins; convert them to 32 bits", file.array_.name(),
                                  npy::dtype_name(stored)));
    }
    if (stored == Dtype::f8 && !round_to_f4) {
      return refuse(std::format("{}: WebGPU has no 64-bit floats; --cast f4 rounds the items to 32 bits first",
                                file.array_.name()));
    }
    if (stored != Dtype::f8 && round_to_f4) {
      return refuse(
          std::format("{}: --cast f4 is for f8 items, not for {}", file.array_.name(), npy::dtype_name(stored)));
    }
    return file;
  }

  [[nodiscard]] const npy::Array& array() const { return array_; }
  [[nodiscard]] SampleType type() const { return type_; }

  [[nodiscard]] Expected<std::span<const std::byte>> window(std::uint64_t first, std::uint64_t count,
                                                            std::vector<std::byte>& scratch) const {
    const std::uint64_t bytes = bytes_of(type_);
    if (read_as_ == array_.dtype() && read_as_ != Dtype::f8) {
      if (const auto all = array_.span()) return all->subspan(first * bytes, count * bytes);
    }
    scratch.resize(count * npy::item_size(read_as_));
    if (const auto ok = array_.read_as(first, count, read_as_, scratch); !ok) return refuse(ok.error());
    if (read_as_ == Dtype::f8) {
      for (std::uint64_t i = 0; i < count; ++i) {
        double item = 0;
        std::memcpy(&item, scratch.data() + i * 8, 8);
        const auto rounded = static_cast<float>(item);
        std::memcpy(scratch.data() + i * 4, &rounded, 4);
      }
      scratch.resize(count * 4);
    }
    return scratch;
  }

  // The least and the greatest item; NaN if one of them is NaN; nothing if there are none.
  [[nodiscard]] Expected<std::optional<std::pair<double, double>>> extremes() const {
    constexpr std::uint64_t piece = 1 << 16;
    std::optional<std::pair<double, double>> found;
    std::vector<std::byte> bytes;
    for (std::uint64_t first = 0; first < array_.item_count(); first += piece) {
      const std::uint64_t count = std::min(piece, array_.item_count() - first);
      bytes.resize(count * 8);
      // Each of them fits into f8.
      if (const auto ok = array_.read_as(first, count, Dtype::f8, bytes); !ok) return refuse(ok.error());
      for (std::uint64_t i = 0; i < count; ++i) {
        double item = 0;
        std::memcpy(&item, bytes.data() + i * 8, 8);
        if (array_.dtype() == Dtype::f8) item = static_cast<float>(item);
        if (!found) found = {item, item};
        if (std::isnan(item)) return std::optional(std::pair{item, item});
        found->first = std::min(found->first, item);
        found->second = std::max(found->second, item);
      }
    }
    return found;
  }

 private:
  explicit SampleFile(npy::Array array) : array_(std::move(array)) {}

  npy::Array array_;
  SampleType type_ = SampleType::f32;
  Dtype read_as_ = Dtype::f4;
};

Expected<HistogramBins> bins_between_edges(const HistogramOptions& options) {
  const auto array = npy::Array::open(options.edges);
  if (!array) return refuse(array.error());
  if (!npy::widens_exactly(array->dtype(), Dtype::f8) || array->shape().size() != 1) {
    return refuse(std::format("{}: edges are a row of numbers that f8 holds exactly", array->name()));
  }
  std::vector<double> edges(array->item_count());
  if (const auto ok = array->read_as(0, edges.size(), Dtype::f8, std::as_writable_bytes(std::span(edges))); !ok) {
    return refuse(ok.error());
  }
  return HistogramBins::between(std::move(edges));
}

// As NumPy: from the least item to the greatest, a unit around them if they are one, 0 to 1 if there are none.
Expected<HistogramBins> even_bins(const HistogramOptions& options, const SampleFile& samples) {
  if (!options.range.empty()) return HistogramBins::even(options.bins, options.range[0], options.range[1]);
  const auto found = samples.extremes();
  if (!found) return std::unexpected(found.error());
  auto [lower, upper] = found->value_or(std::pair{0.0, 1.0});
  if (!std::isfinite(lower) || !std::isfinite(upper)) {
    const std::string why = std::isnan(lower) || std::isnan(upper)
                                ? "some items are NaN, so that they have"
                                : std::format("the items reach from {} to {}, which is", lower, upper);
    return refuse(std::format("{}: {} no range for bins; give --range LO HI", samples.array().name(), why));
  }
  if (lower == upper) {
    lower -= 0.5;
    upper += 0.5;
  }
  return HistogramBins::even(options.bins, lower, upper);
}

// As the user gave them.
std::string bins_given(const HistogramOptions& options) {
  if (!options.edges.empty()) return std::format("--edges {}", npy::one_line(options.edges));
  std::string text = std::format("--bins {}", options.bins);
  if (!options.range.empty()) text += std::format(" --range {} {}", options.range[0], options.range[1]);
  return text;
}

std::vector<double> edges_of(const HistogramBins& bins, SampleType type) {
  if (bins.kind == HistogramBins::Kind::edges) return bins.edges;
  const bool as_floats = type == SampleType::f16 || type == SampleType::f32;
  std::vector<double> edges;
  const double step = (bins.upper - bins.lower) / bins.count;
  for (std::uint32_t i = 0; i <= bins.count; ++i) {
    const double product = i * step;
    const double edge = i == bins.count ? bins.upper : product + bins.lower;
    edges.push_back(as_floats ? static_cast<double>(static_cast<float>(edge)) : edge);
  }
  return edges;
}

struct WeightFile {
  npy::Array array;
  HistogramWeights kind = HistogramWeights::words;
  Dtype read_as = Dtype::u4;
  std::uint32_t fraction_bits = 24;
};

// The finest fixed point whose 63 bits hold the sum of all magnitudes, so that no bin can leave it.
Expected<std::uint32_t> choose_fraction_bits(const npy::Array& array) {
  constexpr std::uint64_t chunk = 1u << 20;
  std::vector<float> weights;
  double sum = 0;
  for (std::uint64_t first = 0; first < array.item_count(); first += chunk) {
    weights.resize(std::min(chunk, array.item_count() - first));
    if (const auto ok = array.read_as(first, weights.size(), Dtype::f4, std::as_writable_bytes(std::span(weights)));
        !ok) {
      return refuse(ok.error());
    }
    for (const float weight : weights) {
      if (!std::isnan(weight)) sum += std::fabs(double{weight});
    }
  }
  constexpr int most_bits = 62;
  const int whole_bits = sum == 0 ? 0 : std::isfinite(sum) ? std::ilogb(sum) + 1 : most_bits + 1;
  if (whole_bits > most_bits) {
    return refuse(
        std::format("{}: weights that add up to {}, signs aside, are too large for sums in fixed point (2^{}); "
                    "scale them down",
                    array.name(), sum, most_bits));
  }
  return static_cast<std::uint32_t>(std::clamp(most_bits - whole_bits, 0, most_bits));
}

Expected<WeightFile> open_weights(const std::string& path, std::uint64_t item_count) {
  auto array = npy::Array::open(path);
  if (!array) return refuse(array.error());
  WeightFile file{.array = std::move(*array)};
  const Dtype stored = file.array.dtype();
  if (npy::widens_exactly(stored, Dtype::u4)) {
    file.kind = HistogramWeights::words;
  } else if (npy::widens_exactly(stored, Dtype::f4) && (stored == Dtype::f2 || stored == Dtype::f4)) {
    file.kind = HistogramWeights::floats;
    file.read_as = Dtype::f4;
  } else {
    return refuse(
        std::format("{}: weights are u1, u2, u4, f2 or f4, not {}", file.array.name(), npy::dtype_name(stored)));
  }
  if (file.array.item_count() != item_count) {
    return refuse(
        std::format("{}: {} weights do not go with {} items", file.array.name(), file.array.item_count(), item_count));
  }
  if (file.kind == HistogramWeights::floats) {
    const auto bits = choose_fraction_bits(file.array);
    if (!bits) return std::unexpected(bits.error());
    file.fraction_bits = *bits;
  }
  return file;
}

// Pixels are what the last dimension holds.
Expected<std::uint64_t> pixel_count(const npy::Array& array, std::uint32_t channels) {
  if (channels == 1) return array.item_count();
  if (array.shape().empty() || array.shape().back() != channels) {
    return refuse(std::format("{}: the last dimension is {}, not {} channels", array.name(),
                              array.shape().empty() ? 0 : array.shape().back(), channels));
  }
  return array.item_count() / channels;
}

// The bins as the file gets them, and as numbers.
struct Bins {
  std::vector<std::byte> bytes;
  std::vector<double> numbers;
  Dtype dtype = Dtype::i8;
};

Bins read_bins(std::vector<std::byte> words, HistogramWeights weights) {
  Bins bins;
  const std::size_t count = words.size() / 4;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, words.data() + i * 4, 4);
    bins.numbers.push_back(weights == HistogramWeights::floats ? double{std::bit_cast<float>(word)}
                                                               : static_cast<double>(word));
  }
  if (weights != HistogramWeights::none) {
    bins.dtype = weights == HistogramWeights::floats ? Dtype::f4 : Dtype::u4;
    bins.bytes = std::move(words);
    return bins;
  }
  // Counts are i8, as NumPy's.
  std::vector<std::int64_t> wide;
  wide.reserve(bins.numbers.size());
  for (const double number : bins.numbers) wide.push_back(static_cast<std::int64_t>(number));
  const auto bytes = std::as_bytes(std::span(wide));
  bins.bytes.assign(bytes.begin(), bytes.end());
  return bins;
}

Outcome write_outputs(Outputs& outputs, const HistogramOptions& options, const Bins& bins,
                      const std::vector<double>& edges) {
  std::vector<std::uint64_t> shape{edges.size() - 1};
  if (options.channels > 1) shape.insert(shape.begin(), options.channels);
  if (ArrayFile* file = outputs.find("--output")) {
    if (const auto ok = file->begin(bins.dtype, shape); !ok) return ok;
    if (const auto ok = file->append(bins.bytes); !ok) return ok;
  }
  if (ArrayFile* file = outputs.find("--write-edges")) {
    if (const auto ok = file->begin(Dtype::f8, std::array{std::uint64_t{edges.size()}}); !ok) return ok;
    if (const auto ok = file->append(std::as_bytes(std::span(edges))); !ok) return ok;
  }
  if (ArrayFile* file = outputs.find("--svg")) {
    // Channels together.
    std::vector<double> sums(edges.size() - 1);
    for (std::size_t i = 0; i < bins.numbers.size(); ++i) sums[i % sums.size()] += bins.numbers[i];
    const std::string picture =
        svg_of_bins(edges, sums, options.file == "/dev/stdin" ? "standard input" : options.file);
    if (const auto ok = file->append(std::as_bytes(std::span(picture))); !ok) return ok;
  }
  return outputs.commit();
}

void print_plot(const HistogramOptions& options, const Bins& bins, const std::vector<double>& edges) {
  constexpr std::size_t most_rows = 40;
  constexpr std::size_t width = 60;
  const std::size_t count = edges.size() - 1;
  for (std::uint32_t channel = 0; channel < options.channels; ++channel) {
    if (options.channels > 1) std::cout << std::format("channel {}\n", channel);
    std::cout << plot_bins(edges, std::span(bins.numbers).subspan(channel * count, count), most_rows, width);
  }
}

Outcome run_histogram(Program& program, const HistogramOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (options.output.empty() && options.svg.empty() && options.written_edges.empty() && !options.plot &&
      !options.json) {
    return refuse("histogram needs --output, --plot, --svg, --write-edges or --json");
  }
  auto samples = SampleFile::open(options.file, options.cast == "f4");
  if (!samples) return std::unexpected(samples.error());
  const npy::Array& array = samples->array();
  if (const auto ok = check_item_count(array); !ok) return ok;
  const auto pixels = pixel_count(array, options.channels);
  if (!pixels) return std::unexpected(pixels.error());
  auto bins = options.edges.empty() ? even_bins(options, *samples) : bins_between_edges(options);
  if (!bins) return std::unexpected(bins.error());
  std::optional<WeightFile> weights;
  if (!options.weights.empty()) {
    auto opened = open_weights(options.weights, *pixels);
    if (!opened) return std::unexpected(opened.error());
    weights = std::move(*opened);
  }
  Outputs outputs;
  for (const auto& [option, path] :
       {std::pair{"--output", &options.output}, {"--svg", &options.svg}, {"--write-edges", &options.written_edges}}) {
    if (const auto ok = outputs.open_if_named(option, *path); !ok) return ok;
  }
  warn_of_trailing_bytes(array);

  const HistogramShape shape{.item_count = Count::on_host(*pixels),
                             .sample = samples->type(),
                             .bins = std::move(*bins),
                             .channels = options.channels,
                             .weights = weights ? weights->kind : HistogramWeights::none,
                             .fraction_bits = weights ? weights->fraction_bits : 24};
  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  const auto plan = plan_histogram(shape, (*context)->traits());
  if (!plan) {
    auto failure = plan_failed(plan.error(), array);
    // What is no request is one of bins.
    if (plan.error().kind == ErrorKind::invalid_request) {
      failure.error().message = bins_given(options) + ": " + failure.error().message;
    }
    return failure;
  }
  auto run = ArrayRun::create(**context, *plan, array.name());
  if (!run) return std::unexpected(run.error());
  Progress progress("histogram", array.item_count() * bytes_of(shape.sample) + (weights ? *pixels * 4 : 0));
  const auto give = [&](std::uint64_t first, std::uint64_t count, std::vector<std::byte>& scratch) {
    return samples->window(first, count, scratch);
  };
  if (const auto ok = run->upload("input", bytes_of(shape.sample), array.item_count(), give, progress); !ok) return ok;
  if (weights) {
    const auto give_weights = [&](std::uint64_t first, std::uint64_t count,
                                  std::vector<std::byte>& scratch) -> Expected<std::span<const std::byte>> {
      scratch.resize(count * 4);
      if (const auto ok = weights->array.read_as(first, count, weights->read_as, scratch); !ok)
        return refuse(ok.error());
      return scratch;
    };
    if (const auto ok = run->upload("weights", 4, *pixels, give_weights, progress); !ok) return ok;
  }
  if (const Status ok = run->run(); !ok) return failed(ok.error());
  std::vector<std::byte> words;
  const auto take = [&words](std::span<const std::byte> bytes) -> Outcome {
    words.insert(words.end(), bytes.begin(), bytes.end());
    return {};
  };
  const std::uint64_t word_count = std::uint64_t{shape.bins.count} * options.channels;
  if (const auto ok = run->read("output", word_count * 4, take); !ok) return ok;

  const Bins found = read_bins(std::move(words), shape.weights);
  const std::vector<double> edges = edges_of(shape.bins, shape.sample);
  if (const auto ok = write_outputs(outputs, options, found, edges); !ok) return ok;
  if (options.plot) print_plot(options, found, edges);
  if (!options.json) return {};
  nlohmann::ordered_json json;
  json["items"] = array.item_count();
  json["bins"] = shape.bins.count;
  json["range"] = {edges.front(), edges.back()};
  const double sum = std::accumulate(found.numbers.begin(), found.numbers.end(), 0.0);
  if (weights) {
    json["weight"] = sum;
  } else {
    json["counted"] = static_cast<std::uint64_t>(sum);
  }
  json["dtype"] = npy::dtype_name(array.dtype());
  print_json(std::move(json), **context, start);
  return {};
}

constexpr const char* histogram_examples = R"(  upsweep histogram --bins 100 samples.npy -o counts.npy --plot
  upsweep histogram --bins 256 --range 0 256 --channels 3 photo.npy -o counts.npy --svg photo.svg
  upsweep histogram --edges edges.npy --weights prices.npy sizes.npy -o sums.npy
Items: u1 to u4, i1 to i4, b1, f2, f4; f8 with --cast f4. FILE - reads standard input.
Bins are those of numpy.histogram: half open, the last one closed, NaN and items outside not counted. Without --range
they reach from the least item to the greatest. Counts are i8, sums of u4 weights u4 (modulo 2^32), of f4 weights f4,
added up in units of 2^-24, whatever their order.)";

}  // namespace

void add_histogram(Program& program) {
  auto options = std::make_shared<HistogramOptions>();
  CLI::App& command = program.add(program.app, "histogram", "Count the items of a .npy file in bins",
                                  histogram_examples, options, run_histogram);
  program.reads(command.add_option("file", options->file, "Array to read"))->required()->type_name("FILE.npy");
  auto* bins = command.add_option("--bins", options->bins, "Bins of equal width, as 100, 1e3 or 2^10")
                   ->capture_default_str()
                   ->transform(count_text())
                   ->type_name("N");
  auto* range = command.add_option("--range", options->range, "Lower end of the first bin, upper end of the last")
                    ->expected(2)
                    ->allow_extra_args(false)  // a file may follow
                    ->type_name("LO HI");
  program.reads(command.add_option("--edges", options->edges, "Array of N + 1 ascending edges instead"))
      ->type_name("EDGES.npy")
      ->excludes(bins)
      ->excludes(range);
  program.reads(command.add_option("--weights", options->weights, "What each item adds to its bin, instead of 1"))
      ->type_name("W.npy");
  command.add_option("--channels", options->channels, "Bins for each of C channels, the last dimension")
      ->check(CLI::Range(1, 4))
      ->type_name("C");
  program.writes(command.add_option("-o,--output", options->output, "File for the bins"))->type_name("OUT.npy");
  program.writes(command.add_option("--write-edges", options->written_edges, "File for the edges, f8"))
      ->type_name("EDGES.npy");
  auto* plot = program.prints(command.add_flag("--plot", options->plot, "Print bars, at most 40 a channel"));
  program.writes(command.add_option("--svg", options->svg, "File for a picture of the bars"))->type_name("OUT.svg");
  program.prints(command.add_flag("--json", options->json, "Print counts, range and time as JSON"))->excludes(plot);
  command.add_option("--cast", options->cast, "f4: round f8 items to 32 bits")->check(CLI::IsMember({"f4"}));
}

}  // namespace upsweep::cli
