// SPDX-License-Identifier: Apache-2.0
// The C++ side of the conformance test: runs every case of a file with the library and writes hashes of what came out,
// with the plans. usage: web_conformance CASES HASHES A case: `name`, `request` (plan_request.h), `profile`, `repeat`,
// and `arguments`: by their names `offset` and, of inputs, `bytes`. web/test/cases.mjs makes them, and has the same
// buffers and the same hash in JavaScript.
#include <cstring>
#include <format>
#include <fstream>
#include <iostream>
#include <iterator>

#include "exec/context_impl.h"
#include "fields.h"
#include "plan_request.h"

namespace upsweep::web {
namespace {

constexpr std::uint64_t guard_bytes = 64;
constexpr std::byte poison{0xa5};

const Value& field(const Value& object, std::string_view name) {
  static const Value none;
  const Value* found = object.find(name);
  return found != nullptr ? *found : none;
}

DeviceTraits traits_of(const DeviceTraits& device, std::string_view profile) {
  DeviceTraits traits = device;
  if (profile == "no_subgroups") traits = device.without_subgroups();
  if (profile == "minimum_limits") traits = device.with_default_limits();
  if (profile == "look_back") traits.look_back = true;
  return traits;
}

class Hash {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      first_ = (first_ ^ std::to_integer<std::uint32_t>(byte)) * 0x01000193u;
      second_ = (second_ + std::to_integer<std::uint32_t>(byte) + 1) * 0x9e3779b1u;
      second_ ^= second_ >> 15;
    }
  }
  [[nodiscard]] std::string text() const { return std::format("{:08x}{:08x}", first_, second_); }

 private:
  std::uint32_t first_ = 0x811c9dc5u;
  std::uint32_t second_ = 0;
};

struct CaseResult {
  std::string hash;
  std::string plan;
};

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return result + "\"";
}

Result<CaseResult> run_case(Context& context, const Value& one) {
  Value request = field(one, "request");
  request.set("traits", [&] {
    DeviceTraits traits = traits_of(context.traits(), field(one, "profile").text);
    return written(traits);
  }());
  const auto planned = plan_request(request);
  if (!planned) return std::unexpected(planned.error());
  const Plan& plan = planned->plan;
  std::vector<BufferHandle> buffers;
  std::vector<Argument> arguments;
  std::vector<std::uint64_t> sizes;
  for (const ArgumentSlot& slot : plan.arguments) {
    const Value& given = field(field(one, "arguments"), slot.name);
    const auto offset = static_cast<std::uint64_t>(field(given, "offset").number);
    const auto input = std::as_bytes(std::span(field(given, "bytes").text));
    std::vector<std::byte> bytes(
        (offset + std::max<std::uint64_t>(slot.size_bytes, input.size()) + 3) / 4 * 4 + guard_bytes, poison);
    std::ranges::copy(input, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    auto raw = context.create_buffer(bytes.size(), slot.name);
    if (!raw) return std::unexpected(raw.error());
    if (const Status ok = context.write(*raw, bytes); !ok) return std::unexpected(ok.error());
    buffers.emplace_back(*raw);
    arguments.push_back({slot.name, BufferView(*raw, offset)});
    sizes.push_back(bytes.size());
  }
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(context.device(), nullptr));
  for (int i = 0; i < static_cast<int>(field(one, "repeat").number); ++i) {
    if (const Status ok = context.record(encoder.get(), plan, arguments); !ok) return std::unexpected(ok.error());
  }
  const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
  const WGPUCommandBuffer list = commands.get();
  wgpuQueueSubmit(context.queue(), 1, &list);
  Hash hash;
  for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
    const auto bytes = context.read(arguments[i].view.buffer, sizes[i]);
    if (!bytes) return std::unexpected(bytes.error());
    hash.add(*bytes);
  }
  if (auto error = context.take_error()) return std::unexpected(*error);
  context.release_bindings();
  return CaseResult{hash.text(), to_string(plan)};
}

int run(const char* cases_path, const char* hashes_path) {
  std::ifstream file(cases_path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const auto cases = decode(bytes);
  if (!cases || cases->items.empty()) {
    std::cerr << cases_path << " holds no cases\n";
    return 1;
  }
  const auto context = Context::create();
  if (!context) {
    std::cerr << context.error().message << "\n";
    return 1;
  }
  std::ofstream out(hashes_path, std::ios::binary);
  out << std::format("{{\"adapter\": {}, \"cases\": {{", quoted((*context)->traits().adapter));
  const char* separator = "\n";
  for (const Value& one : cases->items) {
    const std::string& name = field(one, "name").text;
    const auto result = run_case(**context, one);
    if (!result) {
      std::cerr << name << ": " << result.error().message << "\n";
      return 1;
    }
    out << separator << std::format("{}: [{}, {}]", quoted(name), quoted(result->hash), quoted(result->plan));
    separator = ",\n";
  }
  out << "\n}}\n";
  return out.flush() ? 0 : 1;
}

}  // namespace
}  // namespace upsweep::web

int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "usage: web_conformance CASES HASHES\n";
    return 1;
  }
  return upsweep::web::run(words[1], words[2]);
}
