// SPDX-License-Identifier: Apache-2.0
#include "upsweep/top_k.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <format>
#include <functional>
#include <optional>

#include "benchmarking/bench_families.h"
#include "benchmarking/bench_plans.h"
#include "benchmarking/tuning.h"

namespace upsweep::bench {
namespace {

struct TopKOperation {
  std::uint32_t k = 0;  // 0: the median alone
  bool is_sorted = true;
  bool is_constant = false;  // all keys are equal
};

// "k_1024", "k_1024_unsorted", "k_16_constant", "median".
std::optional<TopKOperation> parse_operation(std::string_view text) {
  TopKOperation operation;
  if (text.starts_with("median")) {
    text.remove_prefix(6);
  } else {
    if (!text.starts_with("k_")) return std::nullopt;
    text.remove_prefix(2);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), operation.k);
    if (error != std::errc() || operation.k == 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  if (operation.k != 0 && text.starts_with("_unsorted")) {
    operation.is_sorted = false;
    text.remove_prefix(9);
  }
  if (text == "_constant") {
    operation.is_constant = true;
    text = {};
  }
  return text.empty() ? std::optional(operation) : std::nullopt;
}

std::string name_of(const TopKOperation& operation) {
  return std::format("{}{}{}", operation.k == 0 ? "median" : std::format("k_{}", operation.k),
                     operation.is_sorted ? "" : "_unsorted", operation.is_constant ? "_constant" : "");
}

constexpr std::uint32_t constant_key = 0x3f000000;  // 0.5f

class TopKBench : public LibraryBench {
 public:
  TopKBench(const TopKOperation& operation, ElementType type, std::vector<std::string> tuning)
      : LibraryBench("top_k", name_of(operation), std::move(type)), operation_(operation), tuning_(std::move(tuning)) {}

  Status prepare(Session& session, std::uint64_t most_items) override {
    if (const Status ok = session.fill_input(*type().scalar); !ok) return ok;
    const std::uint64_t most = std::max<std::uint64_t>(most_items, 1);
    const auto output = session.buffer("output", std::min<std::uint64_t>(most, std::max(operation_.k, 1u)));
    if (!output) return std::unexpected(output.error());
    output_ = *output;
    input_ = session.input();
    if (!operation_.is_constant) return {};
    const auto keys = session.buffer("constant keys", most);
    if (!keys) return std::unexpected(keys.error());
    input_ = *keys;
    const auto fill = plan_poison(most, constant_key, session.context().traits());
    if (!fill) return std::unexpected(fill.error());
    return session.run_once(*fill, input_);
  }

  Result<Work> make(Session& session, std::uint64_t item_count) override {
    TopKShape shape{.item_count = Count::on_host(item_count),
                    .k = Count::on_host(k_of(item_count)),
                    .key = type(),
                    .largest = true,
                    .order = operation_.is_sorted ? TopKOrder::sorted : TopKOrder::input_order};
    TopKBuffers buffers{.keys = input_};
    if (operation_.k == 0) {
      shape.write_keys = false;
      shape.write_threshold = true;
      buffers.threshold = output_;
    } else {
      buffers.top_keys = output_;
    }
    const DeviceTraits& traits = session.context().traits();
    std::optional<TopKTuning> tuning;
    if (!tuning_.empty()) {
      tuning = select_top_k_tuning(shape, traits);
      if (const Status ok = change_tuning(*tuning, tuning_); !ok) return std::unexpected(ok.error());
    }
    auto plan = plan_top_k(shape, traits, tuning, buffers.keys.offset_bytes);
    if (!plan) return std::unexpected(plan.error());
    return Work{std::make_shared<const Plan>(std::move(*plan)),
                [&session, shape, tuning, buffers](WGPUComputePassEncoder pass) {
                  return record_top_k(session.context(), pass, shape, buffers, tuning);
                }};
  }

  Result<Expectation> expect(Session& session, std::uint64_t item_count) override {
    expected_ = find_on_host(item_count);
    const BufferView result(output_.buffer, output_.offset_bytes, expected_.size() * 4);
    return Expectation{
        .outputs = {result},
        .check = [this, &session, result]() -> Result<Verdict> {
          const auto bytes = session.context().read(result, expected_.size() * 4);
          if (!bytes) return std::unexpected(bytes.error());
          return Verdict{.correct = std::memcmp(bytes->data(), expected_.data(), expected_.size() * 4) == 0};
        },
        .bytes_moved = 4 * (item_count + expected_.size())};
  }

 private:
  [[nodiscard]] std::uint64_t k_of(std::uint64_t item_count) const {
    return operation_.k == 0 ? (item_count + 1) / 2 : std::min<std::uint64_t>(operation_.k, item_count);
  }

  // Numbers in [0, 1) compare as their bits do.
  [[nodiscard]] std::vector<std::uint32_t> find_on_host(std::uint64_t item_count) const {
    const std::uint64_t k = k_of(item_count);
    if (k == 0) return {};
    std::vector<std::uint32_t> keys(item_count, constant_key);
    if (!operation_.is_constant) {
      for (std::uint64_t i = 0; i < item_count; ++i)
        keys[i] = input_bits(static_cast<std::uint32_t>(i), *type().scalar);
    }
    auto ordered = keys;
    const auto kth = ordered.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::ranges::nth_element(ordered, kth, std::greater());
    if (operation_.k == 0) return {*kth};
    std::vector<std::uint32_t> found(ordered.begin(), kth + 1);
    if (operation_.is_sorted) {
      std::ranges::sort(found, std::greater());
      return found;
    }
    auto equals = std::ranges::count(found, *kth);
    std::erase_if(keys,
                  [&, least = *kth](std::uint32_t key) { return key < least || (key == least && equals-- <= 0); });
    return keys;
  }

  TopKOperation operation_;
  std::vector<std::string> tuning_;
  std::vector<std::uint32_t> expected_;
  BufferView output_;
  BufferView input_;
};

}  // namespace

Result<LibraryBenches> top_k_benches(const BenchRequest& request) {
  TopKTuning tried;
  if (const Status ok = change_tuning(tried, request.tuning); !ok) return std::unexpected(ok.error());
  std::vector<TopKOperation> operations{{.k = 16}, {.k = 1024}, {.k = 65536}, {}};
  if (!request.operation.empty()) {
    const auto operation = parse_operation(request.operation);
    if (!operation) {
      return fail(ErrorKind::invalid_request,
                  std::format("{} is no benchmark of top_k: median, k_K, k_K_unsorted are, with any K, and the same "
                              "with _constant.",
                              request.operation));
    }
    operations = {*operation};
  }
  std::vector<ElementType> types{ElementType::u32()};
  if (!request.types.empty()) types = request.types;
  LibraryBenches benches;
  for (const TopKOperation& operation : operations) {
    for (const ElementType& type : types) {
      if (type != ElementType::u32() && type != ElementType::f32()) {
        return fail(ErrorKind::invalid_request,
                    std::format("The benchmark of top_k has keys of u32 and f32, not {}.", type.name));
      }
      benches.push_back(std::make_unique<TopKBench>(operation, type, request.tuning));
    }
  }
  return benches;
}

}  // namespace upsweep::bench
