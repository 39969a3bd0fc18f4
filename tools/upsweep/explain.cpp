// SPDX-License-Identifier: Apache-2.0
// upsweep explain: prints a plan and the reasons for it.
#include "explain.h"

#include <webgpu/webgpu.h>

#include <algorithm>
#include <cstring>
#include <format>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <span>

#include "number.h"

namespace upsweep::cli {

using AddExplain = void(Program&, CLI::App&);
AddExplain add_explain_reduce, add_explain_scan, add_explain_select, add_explain_unique, add_explain_run_length,
    add_explain_reduce_by_key, add_explain_partition, add_explain_histogram, add_explain_sort, add_explain_argsort,
    add_explain_top_k, add_explain_spmv;

namespace {

// Of partial values: the type after "alias Accumulator = " in a kernel, if it is a built-in one. Words otherwise.
ElementType accumulator_of(const Kernel& kernel) {
  constexpr std::string_view declaration = "alias Accumulator = ";
  const auto at = kernel.text.find(declaration);
  if (at == std::string::npos) return ElementType::u32();
  const auto first = at + declaration.size();
  return element_type_from_name(kernel.text.substr(first, kernel.text.find(';', first) - first))
      .value_or(ElementType::u32());
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

struct ReleaseBuffer {
  void operator()(WGPUBuffer buffer) const { wgpuBufferRelease(buffer); }
};

class Dump {
 public:
  Dump(Context& context, const Plan& plan, const std::vector<DumpArgument>& arguments)
      : context_(context), plan_(plan), known_(arguments) {}

  Outcome run() {
    if (const auto ok = make_buffers(); !ok) return ok;
    if (const auto ok = submit(); !ok) return ok;
    if (const auto ok = print_scratch(); !ok) return ok;
    if (const auto ok = print_results(); !ok) return ok;
    return check_device(context_);
  }

 private:
  [[nodiscard]] const DumpArgument* find(std::string_view name) const {
    const auto known = std::ranges::find(known_, name, &DumpArgument::name);
    return known == known_.end() ? nullptr : &*known;
  }

  Outcome make_buffers() {
    for (const ArgumentSlot& slot : plan_.arguments) {
      auto buffer = context_.create_buffer(slot.size_bytes, slot.name);
      if (!buffer) return failed(buffer.error());
      buffers_.emplace_back(*buffer);
      arguments_.push_back({slot.name, *buffer});
      const DumpArgument* known = find(slot.name);
      if (known == nullptr || known->bytes.empty()) continue;
      if (const Status ok = context_.write(*buffer, known->bytes); !ok) return failed(ok.error());
      std::cout << std::format("{} = {}\n", slot.name, values_text(known->bytes, known->type));
    }
    return {};
  }

  Outcome submit() {
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(context_.device(), nullptr);
    const Status recorded = context_.record(encoder, plan_, arguments_);
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
    if (recorded) wgpuQueueSubmit(context_.queue(), 1, &commands);
    wgpuCommandBufferRelease(commands);
    wgpuCommandEncoderRelease(encoder);
    if (!recorded) return failed(recorded.error());
    return {};
  }

  Outcome print_scratch() {
    if (plan_.scratch.empty()) {
      std::cout << std::format("no scratch{}\n", plan_.states.empty() ? "" : "; a plan of several passes has some");
    }
    const auto snapshots = context_.debug_snapshots();
    if (!snapshots) return failed(snapshots.error());
    for (const DebugSnapshot& snapshot : *snapshots) {
      // Partial values and carries are accumulators; other slots hold counts and grids.
      const bool is_value = snapshot.slot.starts_with("partial") || snapshot.slot.starts_with("carry");
      const ElementType type =
          is_value ? accumulator_of(*plan_.dispatches.at(snapshot.pass).kernel) : ElementType::u32();
      std::cout << std::format("after pass {} ({}): {} = {}\n", snapshot.pass, snapshot.kernel, snapshot.slot,
                               values_text(snapshot.bytes, type));
    }
    return {};
  }

  Outcome print_results() {
    std::optional<std::uint32_t> count;
    for (const Argument& argument : arguments_) {
      if (argument.name != "count" || !plan_.counts_results) continue;
      const auto bytes = context_.read(argument.view, sizeof(std::uint32_t));
      if (!bytes) return failed(bytes.error());
      std::memcpy(&count.emplace(), bytes->data(), bytes->size());
    }
    for (const Argument& argument : arguments_) {
      const ArgumentSlot& slot = *plan_.find_argument(argument.name);
      if (!slot.is_written) continue;
      const DumpArgument* known = find(slot.name);
      const ElementType type = known == nullptr ? ElementType::u32() : known->type;
      // Where results are counted there is room for more than there are.
      std::uint64_t size_bytes = slot.size_bytes;
      if (count && known != nullptr) size_bytes = std::min(size_bytes, std::uint64_t{*count} * type.stride_bytes);
      const auto bytes = context_.read(argument.view, size_bytes);
      if (!bytes) return failed(bytes.error());
      std::cout << std::format("{} = {}\n", slot.name, values_text(*bytes, type));
    }
    return {};
  }

  Context& context_;
  const Plan& plan_;
  const std::vector<DumpArgument>& known_;
  std::vector<std::unique_ptr<WGPUBufferImpl, ReleaseBuffer>> buffers_;
  std::vector<Argument> arguments_;
};

void print_plan(const Plan& plan, bool with_wgsl) {
  std::cout << to_string(plan);
  if (plan.least_bytes != 0 && !plan.counts_results) {
    std::cout << std::format("  that is {:.4f} times the least\n",
                             static_cast<double>(plan.bytes_moved()) / static_cast<double>(plan.least_bytes));
  }
  std::set<std::string_view> printed;
  for (const Dispatch& dispatch : plan.dispatches) {
    if (!with_wgsl || !printed.insert(dispatch.kernel->text).second) continue;
    std::cout << std::format("\n// kernel {}\n{}", dispatch.kernel->name, dispatch.kernel->text);
  }
}

}  // namespace

void add_items(CLI::App& command, ExplainOptions& options, const char* items) {
  command.add_option("--items", options.items, items)->required()->transform(count_text())->type_name("N");
}

void add_item_options(CLI::App& command, ExplainOptions& options, const char* items) {
  add_items(command, options, items);
  command
      .add_option("--type", options.type,
                  "u32, i32, f32, f16, u64, i64, vec2f, vec4u, ...; or NumPy's u4, i4, f4, f2, u8, i8")
      ->capture_default_str()
      ->type_name("TYPE");
}

void add_view_options(CLI::App& command, ExplainOptions& options) {
  command
      .add_option("--traits", options.traits,
                  "minimum: plan for the least WebGPU device; no device is opened, and no expression compiled")
      ->check(CLI::IsMember({"device", "minimum"}))
      ->capture_default_str();
  command.add_flag("--dump", options.dump, "Run it on made-up items and print the scratch after each pass");
  command.add_flag("--wgsl", options.wgsl, "Print the kernels as they are compiled");
}

Expected<ExplainDevice> open_explained(const Program& program, const ExplainOptions& options,
                                       std::uint64_t most_count) {
  constexpr std::uint64_t most_dumped = std::uint64_t{1} << 20;
  if (options.dump && most_count > most_dumped) {
    return refuse(std::format("--dump is for small inputs, up to {} items and segments", most_dumped));
  }
  if (options.traits != "device") {
    if (options.dump) return refuse("--dump needs a device; leave --traits out");
    return ExplainDevice{nullptr, DeviceTraits::webgpu_minimum()};
  }
  auto context = open_context(program.global, options.dump);
  if (!context) return std::unexpected(context.error());
  const DeviceTraits traits = (*context)->traits();
  return ExplainDevice{std::move(*context), traits};
}

std::vector<std::byte> sample_items(const ElementType& type, std::uint64_t count, std::uint64_t run_length) {
  std::vector<std::byte> bytes;
  const npy::Dtype dtype = dtype_of(*type.scalar);
  for (std::uint64_t i = 0; i < count * type.components; ++i)
    append_bytes(bytes, settle((i / run_length * 7 + 3) % 10, dtype), dtype);
  return bytes;
}

DumpArgument words_argument(std::string name, const std::vector<std::uint32_t>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {std::move(name), ElementType::u32(), {bytes.begin(), bytes.end()}};
}

Outcome explain(const ExplainOptions& options, const ExplainDevice& device, const Plan& plan,
                const std::vector<DumpArgument>& arguments, const std::vector<UserText>& texts) {
  const bool has_text = std::ranges::any_of(texts, [](const UserText& text) { return !text.text.empty(); });
  if (has_text && device.context != nullptr) {
    if (const Status ok = device.context->prepare(plan); !ok) return failed(ok.error(), texts);
  }
  print_plan(plan, options.wgsl);
  if (!options.dump) return {};
  return Dump(*device.context, plan, arguments).run();
}

void add_explain(Program& program) {
  CLI::App& command = *program.app.add_subcommand("explain", "Print a plan: passes, scratch, bytes moved, and why");
  command.fallthrough();
  command.require_subcommand(1);
  command.footer(
      "Examples:\n"
      "  upsweep explain reduce --op sum --type f32 --items 2^24\n"
      "  upsweep explain select --where 'x > 0.5' --items 1000 --dump");
  for (AddExplain* add : {add_explain_reduce, add_explain_scan, add_explain_select, add_explain_partition,
                          add_explain_unique, add_explain_run_length, add_explain_reduce_by_key, add_explain_histogram,
                          add_explain_sort, add_explain_argsort, add_explain_top_k, add_explain_spmv}) {
    add(program, command);
  }
}

}  // namespace upsweep::cli
