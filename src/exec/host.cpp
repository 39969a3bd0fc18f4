// SPDX-License-Identifier: Apache-2.0
#include "upsweep/host.h"

#include <algorithm>
#include <format>
#include <initializer_list>

#include "exec/context_impl.h"

namespace upsweep::host {
namespace {

struct HostInput {
  std::string_view argument;
  std::span<const std::byte> bytes;
};

Status check_count(const Count& count) {
  if (!count.read_on_device) return {};
  return fail(ErrorKind::invalid_request, "Host arrays go with counts known on the host.");
}

Status check_size(std::span<const std::byte> bytes, std::uint64_t item_count, const ElementType& type) {
  if (bytes.size() == item_count * type.stride_bytes) return {};
  return fail(ErrorKind::invalid_request,
              std::format("{} bytes are not {} items of {}.", bytes.size(), item_count, type.name));
}

Status check_flags(std::span<const std::byte> bytes, std::uint64_t item_count, FlagFormat format) {
  const std::uint64_t expected = flag_bytes(format, item_count);
  if (bytes.size() == expected) return {};
  return fail(ErrorKind::invalid_request,
              std::format("{} bytes are not the flags of {} items ({} bytes).", bytes.size(), item_count, expected));
}

// A plan with a buffer for each of its arguments.
class HostRun {
 public:
  // Uploads and submits; inputs that the plan has no argument for are left out.
  static Result<HostRun> start(Context& context, const Plan& plan, std::initializer_list<HostInput> inputs) {
    HostRun run(context, plan);
    std::vector<Argument> arguments;
    for (const ArgumentSlot& slot : plan.arguments) {
      auto raw = context.create_buffer(slot.size_bytes, slot.name);
      if (!raw) return std::unexpected(raw.error());
      const WGPUBuffer buffer = run.buffers_.emplace_back(*raw).get();
      arguments.push_back({slot.name, buffer});
      const auto* input = std::ranges::find(inputs, slot.name, &HostInput::argument);
      if (input == inputs.end()) continue;
      if (const Status ok = context.write(buffer, input->bytes); !ok) return std::unexpected(ok.error());
    }
    const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context.device(), nullptr));
    const Status recorded = context.record(encoder.get(), plan, arguments);
    context.release_bindings();  // they would keep this call's buffers
    if (!recorded) return std::unexpected(recorded.error());
    const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
    const WGPUCommandBuffer list = commands.get();
    wgpuQueueSubmit(context.queue(), 1, &list);
    return run;
  }

  // All of an argument; nothing if the plan has none of that name.
  Result<std::vector<std::byte>> read(std::string_view argument) {
    const ArgumentSlot* slot = plan_->find_argument(argument);
    return slot == nullptr ? std::vector<std::byte>{} : read(argument, slot->size_bytes);
  }
  // Its first items.
  Result<std::vector<std::byte>> read_items(std::string_view argument, std::uint32_t count, const ElementType& type) {
    if (plan_->find_argument(argument) == nullptr) return std::vector<std::byte>{};
    return read(argument, std::uint64_t{count} * type.stride_bytes);
  }
  Result<std::vector<std::uint32_t>> read_words(std::string_view argument, std::uint32_t count) {
    const auto bytes = read_items(argument, count, ElementType::u32());
    if (!bytes) return std::unexpected(bytes.error());
    return items_of<std::uint32_t>(*bytes);
  }
  Result<std::uint32_t> read_count() {
    const auto words = read_words("count", 1);
    if (!words) return std::unexpected(words.error());
    return words->at(0);
  }

 private:
  HostRun(Context& context, const Plan& plan) : context_(&context), plan_(&plan) {}

  Result<std::vector<std::byte>> read(std::string_view argument, std::uint64_t size_bytes) {
    const auto slot = std::ranges::find(plan_->arguments, argument, &ArgumentSlot::name);
    return context_->read(buffers_.at(static_cast<std::size_t>(slot - plan_->arguments.begin())).get(), size_bytes);
  }

  Context* context_;
  const Plan* plan_;
  std::vector<BufferHandle> buffers_;  // of the plan's arguments, in their order
};

// What select and unique keep.
Result<KeptBytes> read_kept(HostRun& run, const ElementType& type) {
  const auto count = run.read_count();
  if (!count) return std::unexpected(count.error());
  auto items = run.read_items("output", *count, type);
  if (!items) return std::unexpected(items.error());
  auto indices = run.read_words("indices", *count);
  if (!indices) return std::unexpected(indices.error());
  return KeptBytes{std::move(*items), std::move(*indices), *count};
}

Status check_values(std::span<const std::byte> bytes, std::uint64_t item_count, std::uint64_t value_bytes) {
  if (bytes.size() == item_count * value_bytes) return {};
  return fail(ErrorKind::invalid_request,
              std::format("{} bytes are not {} values of {} bytes.", bytes.size(), item_count, value_bytes));
}

// What a sort gives.
Result<SortedBytes> read_sorted(HostRun& run, std::uint32_t items) {
  auto keys = run.read("sorted_keys");
  if (!keys) return std::unexpected(keys.error());
  auto values = run.read("sorted_values");
  if (!values) return std::unexpected(values.error());
  auto indices = run.read_words("indices", items);
  if (!indices) return std::unexpected(indices.error());
  return SortedBytes{std::move(*keys), std::move(*values), std::move(*indices)};
}

}  // namespace

Result<std::vector<std::byte>> reduce_bytes(Context& context, const ReduceShape& shape,
                                            std::span<const std::byte> input, std::span<const std::byte> second_input) {
  if (shape.item_count.read_on_device || shape.segments.count.read_on_device ||
      shape.segments.kind == Segmentation::Kind::offsets) {
    return fail(ErrorKind::invalid_request, "Host arrays go with counts known on the host and without offsets.");
  }
  const bool by_rows = shape.segments.kind == Segmentation::Kind::rows;
  const std::uint64_t items = by_rows ? shape.segments.count.max * shape.segments.row_length : shape.item_count.max;
  if (const Status ok = check_size(input, items, shape.input); !ok) return std::unexpected(ok.error());
  if (shape.second_input) {
    if (const Status ok = check_size(second_input, items, *shape.second_input); !ok) return std::unexpected(ok.error());
  }
  const auto plan = plan_reduce(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(context, *plan, {{"input", input}, {"second_input", second_input}});
  if (!run) return std::unexpected(run.error());
  return run->read("output");
}

Result<ScanBytes> scan_bytes(Context& context, const ScanShape& shape, std::span<const std::byte> input,
                             std::span<const std::byte> boundaries) {
  using Kind = ScanSegments::Kind;
  const bool by_rows = shape.segments.kind == Kind::rows;
  if (const Status ok = check_count(by_rows ? shape.segments.row_count : shape.item_count); !ok) {
    return std::unexpected(ok.error());
  }
  const std::uint64_t items = by_rows ? shape.segments.row_count.max * shape.segments.row_length : shape.item_count.max;
  if (const Status ok = check_size(input, items, shape.input); !ok) return std::unexpected(ok.error());
  Status fits;
  if (shape.segments.kind == Kind::flags) fits = check_flags(boundaries, items, shape.segments.format);
  if (shape.segments.kind == Kind::keys) fits = check_size(boundaries, items, shape.segments.key);
  if (!fits) return std::unexpected(fits.error());
  const auto plan = plan_scan(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(
      context, *plan, {{shape.in_place ? "output" : "input", input}, {"heads", boundaries}, {"keys", boundaries}});
  if (!run) return std::unexpected(run.error());
  auto output = run->read("output");
  if (!output) return std::unexpected(output.error());
  auto total = run->read("total");
  if (!total) return std::unexpected(total.error());
  return ScanBytes{std::move(*output), std::move(*total)};
}

Result<KeptBytes> select_bytes(Context& context, const SelectShape& shape, std::span<const std::byte> input,
                               std::span<const std::byte> flags) {
  if (const Status ok = check_count(shape.item_count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(input, shape.item_count.max, shape.input); !ok) return std::unexpected(ok.error());
  if (shape.predicate.flags) {
    if (const Status ok = check_flags(flags, shape.item_count.max, *shape.predicate.flags); !ok) {
      return std::unexpected(ok.error());
    }
  }
  if (shape.dispatch_threads) {
    return fail(ErrorKind::invalid_request, "Host arrays have no indirect dispatch to write the grid of.");
  }
  const auto plan = plan_select(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(context, *plan, {{"input", input}, {"flags", flags}});
  if (!run) return std::unexpected(run.error());
  return read_kept(*run, shape.input);
}

Result<KeptBytes> unique_bytes(Context& context, const UniqueShape& shape, std::span<const std::byte> input) {
  if (const Status ok = check_count(shape.item_count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(input, shape.item_count.max, shape.input); !ok) return std::unexpected(ok.error());
  const auto plan = plan_unique(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(context, *plan, {{"input", input}});
  if (!run) return std::unexpected(run.error());
  return read_kept(*run, shape.input);
}

Result<RunBytes> run_length_bytes(Context& context, const RunLengthShape& shape, std::span<const std::byte> input) {
  if (const Status ok = check_count(shape.item_count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(input, shape.item_count.max, shape.input); !ok) return std::unexpected(ok.error());
  const auto plan = plan_run_length(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(context, *plan, {{"input", input}});
  if (!run) return std::unexpected(run.error());
  const auto count = run->read_count();
  if (!count) return std::unexpected(count.error());
  auto values = run->read_items("values", *count, shape.input);
  if (!values) return std::unexpected(values.error());
  auto lengths = run->read_words("lengths", *count);
  if (!lengths) return std::unexpected(lengths.error());
  auto offsets = run->read_words("offsets", *count);
  if (!offsets) return std::unexpected(offsets.error());
  return RunBytes{std::move(*values), std::move(*lengths), std::move(*offsets), *count};
}

Result<KeyedBytes> reduce_by_key_bytes(Context& context, const ReduceByKeyShape& shape, std::span<const std::byte> keys,
                                       std::span<const std::byte> input) {
  const std::uint64_t items = shape.item_count.max;
  if (const Status ok = check_count(shape.item_count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(keys, items, shape.key); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(input, items, shape.input); !ok) return std::unexpected(ok.error());
  const auto plan = plan_reduce_by_key(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(context, *plan, {{"keys", keys}, {"input", input}});
  if (!run) return std::unexpected(run.error());
  const auto count = run->read_count();
  if (!count) return std::unexpected(count.error());
  auto unique_keys = run->read_items("unique_keys", *count, shape.key);
  if (!unique_keys) return std::unexpected(unique_keys.error());
  // Results are packed as the plan's output says: of the shape's output type or the operator's own.
  const ArgumentSlot* slot = plan->find_argument("output");
  if (slot == nullptr) return KeyedBytes{};
  auto output = run->read("output");
  if (!output) return std::unexpected(output.error());
  output->resize(std::uint64_t{*count} * slot->stride_bytes);
  return KeyedBytes{std::move(*unique_keys), std::move(*output)};
}

Result<std::vector<std::byte>> histogram_bytes(Context& context, const HistogramShape& shape,
                                               std::span<const std::byte> input, std::span<const std::byte> weights) {
  if (const Status ok = check_count(shape.item_count); !ok) return std::unexpected(ok.error());
  if (shape.accumulate || shape.bins.kind == HistogramBins::Kind::edges_on_device) {
    return fail(ErrorKind::invalid_request, "Host arrays go with edges known on the host and bins that begin at 0.");
  }
  const std::uint64_t samples = shape.item_count.max * shape.channels;
  if (input.size() != samples * bytes_of(shape.sample)) {
    return fail(ErrorKind::invalid_request,
                std::format("{} bytes are not {} samples of {}.", input.size(), samples, to_string(shape.sample)));
  }
  const std::uint64_t weight_bytes = shape.weights == HistogramWeights::none ? 0 : shape.item_count.max * 4;
  if (weights.size() != weight_bytes) {
    return fail(ErrorKind::invalid_request, std::format("{} bytes are not the weights of {} items ({} bytes).",
                                                        weights.size(), shape.item_count.max, weight_bytes));
  }
  const auto plan = plan_histogram(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(context, *plan, {{"input", input}, {"weights", weights}});
  if (!run) return std::unexpected(run.error());
  return run->read("output");
}

Result<ElementType> moved_type(std::size_t size_bytes) {
  constexpr std::size_t most = std::size_t{1} << 30;
  switch (size_bytes) {
    case 2: return ElementType::f16();
    case 4: return ElementType::u32();
    case 8: return ElementType::u64();
    case 16: return ElementType::vec(Scalar::u32, 4);
    default: break;
  }
  if (size_bytes == 0 || size_bytes % 4 != 0 || size_bytes > most) {
    return fail(ErrorKind::unsupported,
                std::format("Values of {} bytes cannot be moved by a sort: 2 or a multiple of 4 up to {} can.",
                            size_bytes, most));
  }
  const auto bytes = static_cast<std::uint32_t>(size_bytes);
  const std::string name = std::format("Words{}", bytes / 4);
  return ElementType::structure(name, std::format("struct {} {{ words: array<u32, {}> }}", name, bytes / 4), bytes,
                                bytes);
}

Status check_offsets(std::span<const std::uint32_t> offsets, std::uint64_t item_count) {
  if (offsets.empty()) return fail(ErrorKind::invalid_request, "Segments have one offset more than there are of them.");
  for (std::size_t s = 0; s < offsets.size(); ++s) {
    if (s > 0 && offsets[s] < offsets[s - 1]) {
      return fail(ErrorKind::invalid_request,
                  std::format("Offset {} of the segments is {}, less than the one before ({}).", s, offsets[s],
                              offsets[s - 1]));
    }
    if (offsets[s] > item_count) {
      return fail(ErrorKind::invalid_request,
                  std::format("Offset {} of the segments is {}, behind the {} items.", s, offsets[s], item_count));
    }
  }
  return {};
}

Result<SortedBytes> sort_bytes(Context& context, const SortShape& shape, std::span<const std::byte> keys,
                               std::span<const std::byte> values, std::span<const std::uint32_t> offsets) {
  const std::uint64_t items = shape.item_count.max;
  if (const Status ok = check_count(shape.item_count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(keys, items, shape.key); !ok) return std::unexpected(ok.error());
  const std::uint64_t value_bytes = shape.value ? shape.value->stride_bytes : 0;
  if (const Status ok = check_values(values, items, value_bytes); !ok) return std::unexpected(ok.error());
  const std::uint64_t offset_count = shape.segment_count ? shape.segment_count->max + 1 : 0;
  if (shape.segment_count) {
    if (const Status ok = check_count(*shape.segment_count); !ok) return std::unexpected(ok.error());
  }
  if (offsets.size() != offset_count) {
    return fail(ErrorKind::invalid_request,
                std::format("{} offsets of segments where the sort needs {}.", offsets.size(), offset_count));
  }
  if (offset_count != 0) {
    if (const Status ok = check_offsets(offsets, items); !ok) return std::unexpected(ok.error());
  }
  const auto plan = plan_sort(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  if (plan->dispatches.empty() && shape.in_place) {
    // No segments: all stays.
    return SortedBytes{{keys.begin(), keys.end()}, {values.begin(), values.end()}, {}};
  }
  const auto begins = offset_count == 0 ? offsets : offsets.first(offsets.size() - 1);
  const auto ends = offset_count == 0 ? offsets : offsets.subspan(1);
  auto run = HostRun::start(context, *plan,
                            {{shape.in_place ? "sorted_keys" : "keys", keys},
                             {shape.in_place ? "sorted_values" : "values", values},
                             {"segment_begins", std::as_bytes(begins)},
                             {"segment_ends", std::as_bytes(ends)}});
  if (!run) return std::unexpected(run.error());
  return read_sorted(*run, static_cast<std::uint32_t>(items));
}

Result<std::vector<std::uint32_t>> search_bytes(Context& context, const SearchShape& shape,
                                                std::span<const std::byte> items, std::span<const std::byte> queries) {
  if (const Status ok = check_count(shape.item_count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_count(shape.query_count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(items, shape.item_count.max, shape.item); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(queries, shape.query_count.max, shape.item); !ok) return std::unexpected(ok.error());
  const auto plan = plan_search(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(context, *plan, {{"items", items}, {"queries", queries}});
  if (!run) return std::unexpected(run.error());
  return run->read_words("positions", static_cast<std::uint32_t>(shape.query_count.max));
}

Result<bool> is_sorted_bytes(Context& context, const IsSortedShape& shape, std::span<const std::byte> items) {
  IsSortedShape asked = shape;
  asked.write_result = true;
  asked.write_leading_count = false;
  if (const Status ok = check_count(asked.item_count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(items, asked.item_count.max, asked.input); !ok) return std::unexpected(ok.error());
  const auto plan = plan_is_sorted(asked, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(context, *plan, {{"input", items}});
  if (!run) return std::unexpected(run.error());
  const auto words = run->read_words("result", 1);
  if (!words) return std::unexpected(words.error());
  return words->at(0) == 1;
}

Result<MergedBytes> merge_bytes(Context& context, const MergeShape& shape, std::span<const std::byte> left_keys,
                                std::span<const std::byte> right_keys, std::span<const std::byte> left_values,
                                std::span<const std::byte> right_values) {
  struct Side {
    const Count& count;
    std::span<const std::byte> keys;
    std::span<const std::byte> values;
  };
  const std::uint64_t value_bytes = shape.value ? shape.value->stride_bytes : 0;
  for (const Side& side :
       {Side{shape.left_count, left_keys, left_values}, Side{shape.right_count, right_keys, right_values}}) {
    if (const Status ok = check_count(side.count); !ok) return std::unexpected(ok.error());
    if (const Status ok = check_size(side.keys, side.count.max, shape.key); !ok) return std::unexpected(ok.error());
    if (const Status ok = check_values(side.values, side.count.max, value_bytes); !ok) {
      return std::unexpected(ok.error());
    }
  }
  const auto plan = plan_merge(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(context, *plan,
                            {{"left_keys", left_keys},
                             {"right_keys", right_keys},
                             {"left_values", left_values},
                             {"right_values", right_values}});
  if (!run) return std::unexpected(run.error());
  auto keys = run->read("merged_keys");
  if (!keys) return std::unexpected(keys.error());
  auto values = run->read("merged_values");
  if (!values) return std::unexpected(values.error());
  return MergedBytes{std::move(*keys), std::move(*values)};
}

Result<SortedBytes> merge_sort_bytes(Context& context, const MergeSortShape& shape, std::span<const std::byte> keys,
                                     std::span<const std::byte> values) {
  const std::uint64_t items = shape.item_count.max;
  const std::uint64_t value_bytes = shape.value ? shape.value->stride_bytes : 0;
  if (const Status ok = check_count(shape.item_count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(keys, items, shape.key); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_values(values, items, value_bytes); !ok) return std::unexpected(ok.error());
  const auto plan = plan_merge_sort(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(context, *plan, {{"keys", keys}, {"values", values}});
  if (!run) return std::unexpected(run.error());
  return read_sorted(*run, static_cast<std::uint32_t>(items));
}

Result<TopKBytes> top_k_bytes(Context& context, const TopKShape& shape, std::span<const std::byte> keys,
                              std::span<const std::byte> values) {
  const std::uint64_t items = shape.item_count.max;
  if (const Status ok = check_count(shape.item_count); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_count(shape.k); !ok) return std::unexpected(ok.error());
  if (const Status ok = check_size(keys, items, shape.key); !ok) return std::unexpected(ok.error());
  const std::uint64_t value_bytes = shape.value ? shape.value->stride_bytes : 0;
  if (values.size() != items * value_bytes) {
    return fail(ErrorKind::invalid_request,
                std::format("{} bytes are not {} values of {} bytes.", values.size(), items, value_bytes));
  }
  const auto plan = plan_top_k(shape, context.traits());
  if (!plan) return std::unexpected(plan.error());
  auto run = HostRun::start(context, *plan, {{"keys", keys}, {"values", values}});
  if (!run) return std::unexpected(run.error());
  auto top_keys = run->read("top_keys");
  if (!top_keys) return std::unexpected(top_keys.error());
  auto top_values = run->read("top_values");
  if (!top_values) return std::unexpected(top_values.error());
  auto indices = run->read_words("indices", static_cast<std::uint32_t>(std::min(shape.k.max, items)));
  if (!indices) return std::unexpected(indices.error());
  auto threshold = run->read("threshold");
  if (!threshold) return std::unexpected(threshold.error());
  return TopKBytes{std::move(*top_keys), std::move(*top_values), std::move(*indices), std::move(*threshold)};
}

}  // namespace upsweep::host
