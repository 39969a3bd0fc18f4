// SPDX-License-Identifier: Apache-2.0
// Calls drawn at random, each compared with a reference, byte by byte: for as long as one likes.
// usage: fuzz_shapes [--seconds N] [--seed S] [--only sort|segments|top_k|histogram] [--jobs N] [--case ID]
//                    [--at-least N] [--keep-going] [--verbose]
// Runs for N seconds, and on until it has had that many jobs (60 and 50): a slow device tries something, too.
// Cases are numbered: seed and number say all about one. UPSWEEP_EXPECT_ADAPTER as for the other tests on devices.
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <format>
#include <iostream>
#include <random>
#include <string_view>

#include "fuzz.h"

namespace upsweep::fuzz {
namespace {

struct Kind {
  std::string_view name;
  std::optional<std::string> (*run)(Case&);
};
constexpr std::array kinds{Kind{"sort", run_sort}, Kind{"segments", run_segments}, Kind{"top_k", run_top_k},
                           Kind{"histogram", run_histogram}};

// Cases of a stretch share a palette.
constexpr std::uint64_t stretch = 16;

struct Options {
  double seconds = 60;
  std::uint64_t seed = std::random_device()();
  std::string_view only;
  std::uint64_t first = 0;
  std::uint64_t end = ~std::uint64_t{0};
  std::uint64_t at_least = 50;
  bool keeps_going = false;
  bool is_verbose = false;
};

// Splits words that only a person gives; a wrong one ends the program.
Options read_options(int argc, char** argv) {
  Options options;
  const auto usage = [](std::string_view word) {
    std::cerr << "fuzz_shapes: " << word
              << ": options are --seconds N, --seed S, --only KIND, --jobs N, --case ID, --at-least N, --keep-going, "
                 "--verbose\n";
    std::exit(2);
  };
  bool is_timed = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--keep-going" || word == "--verbose") {
      (word == "--verbose" ? options.is_verbose : options.keeps_going) = true;
      continue;
    }
    if (i + 1 == argc) usage(word);
    const char* text = argv[++i];
    char* rest = nullptr;
    const std::uint64_t number = std::strtoull(text, &rest, 0);
    if (word == "--only") {
      options.only = text;
      if (std::ranges::find(kinds, options.only, &Kind::name) == kinds.end()) usage(text);
      continue;
    }
    if (rest == text || *rest != '\0') usage(text);
    if (word == "--seconds") {
      options.seconds = static_cast<double>(number);
    } else if (word == "--seed") {
      options.seed = number;
    } else if (word == "--at-least") {
      options.at_least = number;
    } else if (word == "--jobs" || word == "--case") {
      options.first = word == "--case" ? number : 0;
      options.end = word == "--case" ? number + 1 : number;
      is_timed = false;
    } else {
      usage(word);
    }
  }
  if (!is_timed) {
    options.seconds = 1e9;
    options.at_least = 0;
  }
  return options;
}

Random numbered(std::uint64_t seed, std::uint64_t number) { return Random(Random(seed).next() + number * 0x9e3779b9u); }

bool is_expected_adapter(const Context& context) {
  const char* expected = std::getenv("UPSWEEP_EXPECT_ADAPTER");
  if (expected == nullptr) return true;
  std::string seen = context.traits().adapter + " " + context.driver();
  std::ranges::transform(seen, seen.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string wanted = std::string_view(expected) == "lavapipe" ? "llvmpipe" : expected;
  if (seen.contains(wanted)) return true;
  std::cerr << "expected adapter " << expected << ", got " << seen << "\n";
  return false;
}

int run(const Options& options) {
  auto created = Context::create();
  if (!created) {
    std::cerr << created.error().message << "\n";
    return 1;
  }
  Context& context = **created;
  if (!is_expected_adapter(context)) return 1;
  const DeviceTraits device = context.traits();
  std::cout << std::format("adapter {}, seed {}", device.adapter, options.seed) << std::endl;
  std::array<std::uint64_t, kinds.size()> jobs{};
  std::uint64_t job_count = 0;
  std::uint64_t fault_count = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  Palette palette;
  std::uint64_t palette_number = ~std::uint64_t{0};
  for (std::uint64_t id = options.first;
       id < options.end && (elapsed() < options.seconds || job_count < options.at_least); ++id) {
    if (palette_number != id / stretch) {
      palette_number = id / stretch;
      Random random = numbered(~options.seed, palette_number);
      palette = draw_palette(random, device);
    }
    Case current{.context = context, .palette = palette, .random = numbered(options.seed, id)};
    const std::size_t kind = current.random.below(static_cast<std::uint32_t>(kinds.size()));
    if (!options.only.empty() && kinds[kind].name != options.only) continue;
    const double before = elapsed();
    if (options.is_verbose) std::cout << std::format("case {}: ", id) << std::flush;
    const auto fault = kinds[kind].run(current);
    if (options.is_verbose) {
      std::cout << std::format("{} ({:.0f} ms)", current.text, 1e3 * (elapsed() - before)) << std::endl;
    }
    ++jobs[kind];
    ++job_count;
    if (!fault) continue;
    ++fault_count;
    std::cout << std::format(
                     "FAULT in case {}: {}\n  {}\n  this case alone:          fuzz_shapes --seed {} --case {}\n"
                     "  and what ran before it:   fuzz_shapes --seed {} --jobs {}",
                     id, *fault, current.text, options.seed, id, options.seed, id + 1)
              << std::endl;
    if (!options.keeps_going) break;
  }
  context.override_traits(device);
  std::string counts;
  for (std::size_t k = 0; k < kinds.size(); ++k) counts += std::format(", {} {}", jobs[k], kinds[k].name);
  std::cout << std::format("{} jobs in {:.1f} s ({} pipelines, {:.1f} s to make them){}; {} faults", job_count,
                           elapsed(), context.statistics().pipelines_created,
                           context.statistics().pipeline_milliseconds * 1e-3, counts, fault_count)
            << std::endl;
  return fault_count == 0 ? 0 : 1;
}

}  // namespace
}  // namespace upsweep::fuzz

int main(int argc, char** argv) { return upsweep::fuzz::run(upsweep::fuzz::read_options(argc, argv)); }
