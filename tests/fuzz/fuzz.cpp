// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include <algorithm>
#include <cstring>
#include <format>

namespace upsweep::fuzz {
namespace {

constexpr std::uint64_t guard_bytes = 256;

std::uint64_t round_up(std::uint64_t number, std::uint64_t unit) { return (number + unit - 1) / unit * unit; }

std::string hex(const std::byte* bytes, std::uint64_t count) {
  std::string text;
  for (std::uint64_t i = count; i-- > 0;) text += std::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  return text;
}

}  // namespace

std::uint32_t draw_count(Random& random, const std::vector<std::uint32_t>& thresholds, std::uint32_t most) {
  if (one_in(random, 8)) return random.below(4);
  if (one_in(random, 4)) return random.below(most + 1);
  const std::uint64_t near = std::uint64_t{pick(random, thresholds)} * (1 + random.below(4)) + random.below(3);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(near == 0 ? 0 : near - 1, most));
}

std::uint32_t draw_device_count(Random& random, std::uint32_t most) {
  switch (random.below(6)) {
    case 0: return 0;
    case 1: return most;
    case 2: return most + 1 + random.below(100);
    case 3: return one_in(random, 2) ? 0xffffffffu : 0x80000001u;
    default: return random.below(most + 1);
  }
}

Arrays::~Arrays() {
  for (const Image& image : images_) {
    if (image.buffer != nullptr) wgpuBufferRelease(image.buffer);
  }
}

Arrays::Id Arrays::add(std::string name, Bytes bytes, std::uint64_t unit_bytes, std::uint64_t first) {
  if (!shares_buffer_ || !shared_) images_.emplace_back();
  const std::size_t buffer = shares_buffer_ && shared_ ? *shared_ : images_.size() - 1;
  if (shares_buffer_) shared_ = buffer;
  Image& image = images_[buffer];
  // Arrays of one buffer must not share a block of 256 bytes.
  const std::uint64_t guard_end = round_up(image.before.size(), 256) + guard_bytes;
  const std::uint64_t offset = round_up(guard_end, unit_bytes) + first * unit_bytes;
  for (Bytes* state : {&image.before, &image.after}) {
    state->resize(round_up(offset + bytes.size() + guard_bytes, 4), poison_);
    std::ranges::copy(bytes, state->begin() + static_cast<std::ptrdiff_t>(offset));
  }
  arrays_.push_back({std::move(name), unit_bytes, buffer, offset, bytes.size()});
  return arrays_.size() - 1;
}

void Arrays::expect(Id id, Bytes bytes) {
  const Array& array = arrays_[id];
  std::ranges::copy(bytes, images_[array.buffer].after.begin() + static_cast<std::ptrdiff_t>(array.offset));
}

Status Arrays::create(Context& context) {
  for (Image& image : images_) {
    const auto buffer = context.create_buffer(image.before.size(), "fuzz");
    if (!buffer) return std::unexpected(buffer.error());
    image.buffer = *buffer;
    if (const Status written = context.write(image.buffer, image.before); !written) return written;
  }
  return {};
}

BufferView Arrays::view(Id id) const { return {images_[arrays_[id].buffer].buffer, arrays_[id].offset}; }

std::string Arrays::place_of(std::size_t image, std::uint64_t at) const {
  std::string nearest;
  for (const Array& array : arrays_) {
    if (array.buffer != image) continue;
    if (at >= array.offset && at < array.offset + array.size) {
      return std::format("{}, byte {} of {}", array.name, at - array.offset, array.size);
    }
    nearest =
        std::format("{} of the {} bytes of {}", static_cast<std::int64_t>(at - array.offset), array.size, array.name);
  }
  return "a byte outside the items: " + nearest;
}

std::optional<std::string> Arrays::difference(Context& context) const {
  for (std::size_t i = 0; i < images_.size(); ++i) {
    const Image& image = images_[i];
    const auto now = context.read(image.buffer, image.after.size());
    if (!now) return "reading failed: " + now.error().message;
    const auto [actual, expected] = std::ranges::mismatch(*now, image.after);
    if (expected == image.after.end()) continue;
    const auto at = static_cast<std::uint64_t>(expected - image.after.begin()) / 4 * 4;
    std::uint64_t different = 0;
    for (std::uint64_t k = 0; k < image.after.size(); ++k) different += (*now)[k] != image.after[k] ? 1 : 0;
    return std::format("{}: {}, not {} (the word there; {} bytes differ in all)",
                       place_of(i, static_cast<std::uint64_t>(expected - image.after.begin())),
                       hex(now->data() + at, 4), hex(image.after.data() + at, 4), different);
  }
  return {};
}

void Case::choose_device() {
  DeviceTraits traits = pick(random, palette.devices);
  traits.look_back = one_in(random, 2);
  if (one_in(random, 6)) {
    const std::uint32_t hidden[] = {1, 2, 4};
    traits.test_hidden_chunks = hidden[random.below(3)];
    text += std::format(", every {}th tile stalls", traits.test_hidden_chunks);
  }
  if (one_in(random, 4)) {
    // Folds thousands of workgroups into three dimensions.
    traits.max_workgroups_per_dimension = 13 + random.below(20);
    text += std::format(", {} workgroups a dimension", traits.max_workgroups_per_dimension);
  }
  text += traits.emulated_subgroup_size != 0 ? std::format(", emulated subgroups of {}", traits.emulated_subgroup_size)
                                             : std::format(", {}subgroups, {} bytes of workgroup memory",
                                                           traits.subgroups ? "" : "no ", traits.max_workgroup_bytes);
  context.override_traits(traits);
}

std::optional<std::string> run_and_compare(Case& current, Arrays& arrays, bool may_repeat,
                                           const std::function<Status(RecordTarget)>& record) {
  Context& context = current.context;
  const std::uint32_t times = may_repeat && one_in(current.random, 3) ? 2 : 1;
  const bool in_pass = one_in(current.random, 3);
  if (times == 2) current.text += ", twice";
  if (in_pass) current.text += ", in an open pass";
  WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(context.device(), nullptr);
  WGPUComputePassEncoder pass = in_pass ? wgpuCommandEncoderBeginComputePass(encoder, nullptr) : nullptr;
  Status status;
  for (std::uint32_t k = 0; k < times && status; ++k) {
    status = record(in_pass ? RecordTarget(pass) : RecordTarget(encoder));
  }
  if (in_pass) {
    wgpuComputePassEncoderEnd(pass);
    wgpuComputePassEncoderRelease(pass);
  }
  WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  wgpuQueueSubmit(context.queue(), 1, &commands);
  wgpuCommandBufferRelease(commands);
  wgpuCommandEncoderRelease(encoder);
  if (const Status waited = context.wait(); status && !waited) status = waited;
  std::optional<std::string> fault;
  if (!status) fault = "refused: " + status.error().message;
  while (const auto error = context.take_error()) {
    if (!fault) fault = "device error: " + error->message;
  }
  if (!fault) fault = arrays.difference(context);
  context.release_bindings();
  return fault;
}

}  // namespace upsweep::fuzz
