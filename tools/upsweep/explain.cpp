// SPDX-License-Identifier: Apache-2.0
// upsweep explain: prints a plan and the reasons for it; each primitive adds a command below.
#include <webgpu/webgpu.h>

#include <algorithm>
#include <cstring>
#include <format>
#include <iostream>
#include <set>

#include "commands.h"
#include "number.h"
#include "upsweep/reduce.h"

namespace upsweep::cli {
namespace {

struct ExplainOptions {
  std::string items;
  std::string type = "f32";
  std::string op = "sum";
  std::string transform;
  std::string rows;
  std::string segments;
  std::string traits = "device";
  bool device_count = false;
  bool multi_pass = false;
  bool dump = false;
  bool wgsl = false;
};

// The type after "alias Accumulator = " in a kernel.
std::string accumulator_of(const Kernel& kernel) {
  constexpr std::string_view declaration = "alias Accumulator = ";
  const auto at = kernel.text.find(declaration);
  if (at == std::string::npos) return "u32";
  const auto first = at + declaration.size();
  return kernel.text.substr(first, kernel.text.find(';', first) - first);
}

// "[1, 2, 3, ... 5 more]"; vectors in brackets of their own.
std::string values_text(std::span<const std::byte> bytes, const ElementType& type) {
  constexpr std::size_t most_values = 16;
  const std::size_t count = bytes.size() / type.stride_bytes;
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(count, most_values); ++i) {
    std::string value;
    for (std::uint32_t c = 0; c < type.components; ++c) {
      const Number number = number_at(bytes, *type.scalar, i * type.components + c);
      value += (c == 0 ? "" : ", ") + format_number(number, dtype_of(*type.scalar));
    }
    text += (i == 0 ? "" : ", ") + (type.components == 1 ? value : "(" + value + ")");
  }
  if (count > most_values) text += std::format(", ... {} more", count - most_values);
  return text + "]";
}

// The digits 0 to 9 in a scrambled order, in every component.
std::vector<std::byte> sample_items(const ElementType& type, std::uint64_t count) {
  std::vector<std::byte> bytes;
  const npy::Dtype dtype = dtype_of(*type.scalar);
  for (std::uint64_t i = 0; i < count * type.components; ++i)
    append_bytes(bytes, settle((i * 7 + 3) % 10, dtype), dtype);
  return bytes;
}

std::vector<std::byte> words(const std::vector<std::uint32_t>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

struct ReleaseBuffer {
  void operator()(WGPUBuffer buffer) const { wgpuBufferRelease(buffer); }
};

struct DumpInput {
  std::string name;  // of the plan's argument
  ElementType type;
  std::vector<std::byte> bytes;
};

// Runs the plan in a debug context and prints what goes in, what the scratch slots hold after each pass, and the
// result.
Outcome dump_plan(Context& context, const Plan& plan, const std::vector<DumpInput>& inputs, const ElementType& result) {
  std::vector<std::unique_ptr<WGPUBufferImpl, ReleaseBuffer>> buffers;
  std::vector<Argument> arguments;
  for (const ArgumentSlot& slot : plan.arguments) {
    auto buffer = context.create_buffer(slot.size_bytes, slot.name);
    if (!buffer) return failed(buffer.error());
    buffers.emplace_back(*buffer);
    arguments.push_back({slot.name, *buffer});
    const auto input = std::ranges::find(inputs, slot.name, &DumpInput::name);
    if (input == inputs.end()) continue;
    if (const Status ok = context.write(*buffer, input->bytes); !ok) return failed(ok.error());
    std::cout << std::format("{} = {}\n", slot.name, values_text(input->bytes, input->type));
  }
  WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(context.device(), nullptr);
  const Status recorded = context.record(encoder, plan, arguments);
  WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  if (recorded) wgpuQueueSubmit(context.queue(), 1, &commands);
  wgpuCommandBufferRelease(commands);
  wgpuCommandEncoderRelease(encoder);
  if (!recorded) return failed(recorded.error(), true);

  if (plan.scratch.empty()) {
    std::cout << std::format("no scratch{}\n",
                             plan.states.empty() ? "" : "; --multi-pass keeps the partial values in scratch");
  }
  const auto snapshots = context.debug_snapshots();
  if (!snapshots) return failed(snapshots.error());
  for (const DebugSnapshot& snapshot : *snapshots) {
    // Partial values are accumulators; other slots hold counts and grids.
    const bool is_partial = snapshot.slot.starts_with("partial");
    const auto type =
        element_type_from_name(is_partial ? accumulator_of(*plan.dispatches.at(snapshot.pass).kernel) : "u32");
    if (!type) return failed(type.error());
    std::cout << std::format("after pass {} ({}): {} = {}\n", snapshot.pass, snapshot.kernel, snapshot.slot,
                             values_text(snapshot.bytes, *type));
  }
  for (const Argument& argument : arguments) {
    const ArgumentSlot* slot = plan.find_argument(argument.name);
    if (!slot->is_written) continue;
    const auto bytes = context.read(argument.view, slot->size_bytes);
    if (!bytes) return failed(bytes.error());
    std::cout << std::format("{} = {}\n", slot->name, values_text(*bytes, result));
  }
  return check_device(context);
}

void print_plan(const Plan& plan, bool with_wgsl) {
  std::cout << to_string(plan);
  if (plan.least_bytes != 0) {
    std::cout << std::format("  that is {:.4f} times the least\n",
                             static_cast<double>(plan.bytes_moved()) / static_cast<double>(plan.least_bytes));
  }
  std::set<std::string_view> printed;
  for (const Dispatch& dispatch : plan.dispatches) {
    if (!with_wgsl || !printed.insert(dispatch.kernel->text).second) continue;
    std::cout << std::format("\n// kernel {}\n{}", dispatch.kernel->name, dispatch.kernel->text);
  }
}

Outcome run_explain_reduce(Program& program, const ExplainOptions& options) {
  const auto op = operator_from_name(options.op);
  if (!op) return failed(op.error());
  const auto type = element_type_from_name(options.type);
  if (!type) return failed(type.error());
  const auto item_count = parse_count(options.items);
  if (!item_count) return std::unexpected(item_count.error());
  const auto make_count = [&](std::uint64_t count) {
    return options.device_count ? Count::on_device(count) : Count::on_host(count);
  };

  ReduceShape shape{.input = *type, .combine = *op};
  if (!options.transform.empty()) shape.transform = Transform::of(options.transform);
  std::uint64_t total = *item_count;
  std::uint64_t segment_count = 1;
  if (!options.rows.empty()) {
    const auto rows = parse_count(options.rows);
    if (!rows) return std::unexpected(rows.error());
    constexpr std::uint64_t most = 0xffffffff;
    if (*item_count > most || (*item_count != 0 && *rows > most / *item_count)) {
      return refuse(std::format("{} rows of {} items are more than a reduction takes", *rows, *item_count));
    }
    total = *rows * *item_count;
    segment_count = *rows;
    shape.segments = Segmentation::rows(make_count(*rows), static_cast<std::uint32_t>(*item_count));
  } else if (!options.segments.empty()) {
    const auto segments = parse_count(options.segments);
    if (!segments) return std::unexpected(segments.error());
    segment_count = *segments;
    shape.item_count = Count::on_host(total);
    shape.segments = Segmentation::offsets(make_count(segment_count));
  } else {
    shape.item_count = make_count(total);
  }

  constexpr std::uint64_t most_dumped = std::uint64_t{1} << 20;
  if (options.dump && (total > most_dumped || segment_count > most_dumped)) {
    return refuse(std::format("--dump is for small inputs, up to {} items and segments", most_dumped));
  }
  std::unique_ptr<Context> context;
  DeviceTraits traits = DeviceTraits::webgpu_minimum();
  if (options.traits == "device") {
    auto opened = open_context(program.global, options.dump);
    if (!opened) return std::unexpected(opened.error());
    context = std::move(*opened);
    traits = context->traits();
  } else if (options.dump) {
    return refuse("--dump needs a device; leave --traits out");
  }
  ReduceTuning tuning = select_reduce_tuning(shape, traits);
  if (options.multi_pass) tuning.single_pass = false;
  const auto plan = plan_reduce(shape, traits, tuning);
  if (!plan) return failed(plan.error(), !options.transform.empty());
  print_plan(*plan, options.wgsl);
  if (!options.dump) return {};

  std::vector<std::uint32_t> begins;
  std::vector<std::uint32_t> ends;
  for (std::uint64_t s = 0; s < segment_count; ++s) {
    begins.push_back(static_cast<std::uint32_t>(s * total / segment_count));
    ends.push_back(static_cast<std::uint32_t>((s + 1) * total / segment_count));
  }
  const std::uint64_t counted = shape.segments.kind == Segmentation::Kind::whole ? total : segment_count;
  const std::vector<DumpInput> inputs{{"input", *type, sample_items(*type, total)},
                                      {"item_count", ElementType::u32(), words({static_cast<std::uint32_t>(counted)})},
                                      {"segment_begins", ElementType::u32(), words(begins)},
                                      {"segment_ends", ElementType::u32(), words(ends)}};
  const bool gives_u32 = op->kind == OperatorKind::argmin || op->kind == OperatorKind::argmax ||
                         op->kind == OperatorKind::logical_any || op->kind == OperatorKind::logical_all;
  return dump_plan(*context, *plan, inputs, gives_u32 ? ElementType::u32() : *type);
}

void add_explain_reduce(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App& command = program.add(explain, "reduce", "Explain a reduction",
                                  "  upsweep explain reduce --op sum --type f32 --items 2^24\n"
                                  "  upsweep explain reduce --op argmin --items 1000 --rows 5000 --limits minimum\n"
                                  "  upsweep explain reduce --items 40000 --type u32 --dump\n"
                                  "  upsweep explain reduce --items 1e6 --traits minimum --wgsl",
                                  options, run_explain_reduce);
  command.add_option("--items", options->items, "Items (of each row, with --rows), as 1000000, 1e6 or 2^20")
      ->required()
      ->type_name("N");
  command.add_option("--op", options->op, "sum, product, min, max, and, or, xor, argmin, argmax, any, all")
      ->capture_default_str()
      ->type_name("OP");
  command.add_option("--type", options->type, "u32, i32, f32, f16, u64, i64, vec2f, vec4u, ...")
      ->capture_default_str()
      ->type_name("TYPE");
  command.add_option("--transform", options->transform, "WGSL expression of the item x and its index i")
      ->type_name("EXPR");
  auto* rows = command.add_option("--rows", options->rows, "Reduce R rows of N items")->type_name("R");
  command.add_option("--segments", options->segments, "Reduce S segments of N items, by offsets")
      ->type_name("S")
      ->excludes(rows);
  command.add_flag("--device-count", options->device_count,
                   "The count of items, rows or segments is read on the device");
  command.add_flag("--multi-pass", options->multi_pass,
                   "Without the plans in which the last workgroup to arrive folds the rest");
  command.add_option("--traits", options->traits, "minimum: plan for the least WebGPU device; no device is opened")
      ->check(CLI::IsMember({"device", "minimum"}))
      ->capture_default_str();
  command.add_flag("--dump", options->dump, "Run it on made-up items and print the scratch after each pass");
  command.add_flag("--wgsl", options->wgsl, "Print the kernels as they are compiled");
}

}  // namespace

void add_explain(Program& program) {
  CLI::App& command = *program.app.add_subcommand("explain", "Print a plan: passes, scratch, bytes moved, and why");
  command.fallthrough();
  command.require_subcommand(1);
  command.footer("Examples:\n  upsweep explain reduce --op sum --type f32 --items 2^24");
  add_explain_reduce(program, command);
}

}  // namespace upsweep::cli
