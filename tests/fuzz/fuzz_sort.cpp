// SPDX-License-Identifier: Apache-2.0
// Cases of sorts, of whole arrays and of segments.
#include <algorithm>
#include <format>
#include <numeric>

#include "fuzz_keys.h"

namespace upsweep::fuzz {
namespace {

struct Segments {
  std::vector<std::uint32_t> begins;
  std::vector<std::uint32_t> ends;
  std::uint64_t longest = 0;
  bool is_offsets = false;  // one array, ends one word later
};

// One array for begins and ends, or segments with gaps, empty ones, ends before begins and ends behind the items.
Segments draw_segments(Random& random, std::uint32_t items, std::uint32_t window) {
  Segments segments;
  segments.is_offsets = one_in(random, 4);
  const std::vector<std::uint32_t> typical{3, 40, 70, window / 2, window, 4 * window};
  const std::uint32_t most = std::max(2u, pick(random, typical));
  const std::uint32_t empty_in = 2 + random.below(4);
  std::uint32_t at = random.below(4) * random.below(4);
  const auto add = [&](std::uint32_t begin, std::uint32_t end) {
    segments.begins.push_back(begin);
    segments.ends.push_back(end);
    if (end > begin) segments.longest = std::max<std::uint64_t>(segments.longest, end - begin);
  };
  while (at < items && segments.begins.size() < 2000) {
    const std::uint32_t length = one_in(random, empty_in) ? 0
                                 : one_in(random, 5)      ? most - random.below(2)
                                                          : random.below(most);
    add(at, at + length);
    if (segments.is_offsets) {
      at += length;
      continue;
    }
    if (length == 0 && at > 0 && one_in(random, 4)) segments.ends.back() = random.below(at);
    at += length + (one_in(random, 4) ? random.below(9) : 0);
  }
  if (!segments.is_offsets && one_in(random, 3)) add(std::max(at, items) + random.below(5), items + 100);
  return segments;
}

std::uint32_t tile_of(const SortTuning& tuning) { return tuning.workgroup_size * tuning.items_per_thread; }

// Values of other sizes are fetched by index in the end.
bool travels(const ElementType& value) {
  return value.scalar == Scalar::f16 || value.stride_bytes == 4 || value.stride_bytes == 8 || value.stride_bytes == 16;
}

struct SortCase {
  Case& current;
  Random& random;
  SortShape shape = {};
  std::optional<SortTuning> tuning = {};
  SortTuning used = {};
  Keys keys = {};
  std::uint32_t count = 0;
  std::uint32_t used_count = 0;
  std::optional<std::uint32_t> device_count = {};

  explicit SortCase(Case& of) : current(of), random(of.random) {}

  void draw(bool has_segments) {
    current.choose_device();
    const KeyKind kind = pick(random, current.palette.keys);
    tuning = pick(random, current.palette.sorts);
    shape.key = type_of(kind);
    shape.key_is_f64 = kind == KeyKind::f64;
    shape.descending = current.palette.descending;
    if (!one_in(random, 3)) shape.value = pick(random, current.palette.values);
    const bool has_half_values = shape.value && shape.value->scalar == Scalar::f16;
    shape.write_indices = one_in(random, 3) && !has_half_values && !(has_segments && shape.value);
    shape.write_keys = !(shape.value || shape.write_indices) || !one_in(random, 3);
    // What the documents except.
    const bool moves_values = !shape.value || (!shape.write_indices && travels(*shape.value));
    const bool is_mixed = has_segments && shape.value && has_half_values != (kind == KeyKind::f16);
    shape.in_place = shape.write_keys && moves_values && !is_mixed && one_in(random, 3);
    if (one_in(random, 4)) {
      const std::uint32_t width = fuzz::bytes_of(kind) * 8;
      shape.begin_bit = random.below(width);
      shape.end_bit = one_in(random, 4) ? 0 : shape.begin_bit + 1 + random.below(width - shape.begin_bit);
    }
    used = tuning ? *tuning : select_sort_tuning(shape, current.context.traits());
    const std::vector<std::uint32_t> thresholds{used.workgroup_size,
                                                4 * used.workgroup_size,
                                                tile_of(used),
                                                tile_of(used),
                                                used.one_workgroup_items,
                                                used.one_workgroup_items / 2,
                                                tile_of(used) * std::min(used.max_workgroups, 100u)};
    count = draw_count(random, thresholds, one_in(random, 4) ? 6000 : 1500);
    if (one_in(random, 4)) device_count = draw_device_count(random, count);
    used_count = std::min(count, device_count.value_or(count));
    shape.item_count = {count, device_count.has_value()};
    current.text += std::format(", {} {}{}", count, name_of(kind), shape.descending ? " descending" : "");
    keys = draw_keys(random, kind, count, current.text);
    if (shape.value) current.text += " with " + shape.value->name;
    if (!shape.write_keys) current.text += ", no keys written";
    if (shape.write_indices) current.text += ", indices";
    if (shape.in_place) current.text += ", in place";
    if (shape.begin_bit != 0 || shape.end_bit != 0) {
      current.text += std::format(", bits [{}, {})", shape.begin_bit, shape.end_bit);
    }
    if (device_count) current.text += std::format(", {} on the device", *device_count);
    current.text += tuning ? ", " + to_string(*tuning) : ", tuning of the library";
  }

  [[nodiscard]] std::vector<std::uint32_t> order_of_part(std::uint32_t begin, std::uint32_t end) const {
    return order_of(keys.part(begin, end), shape.descending, shape.begin_bit, shape.end_bit);
  }

  // `place(result, items, stride)` puts items where they belong.
  std::optional<std::string> run(const Segments* segments, std::optional<std::uint32_t> segment_count,
                                 const std::function<void(Bytes&, const Bytes&, std::size_t)>& place) {
    // No array of offsets is read through two bindings from a buffer that is written.
    Arrays arrays = current.new_arrays(segments == nullptr || !segments->is_offsets);
    const std::uint32_t key_stride = shape.key.stride_bytes;
    const std::uint32_t key_unit = std::max(4u, key_stride);
    const Bytes key_bytes = fuzz::bytes_of(keys);
    const auto sorted = [&](const Bytes& items, const Bytes& before, std::size_t stride) {
      Bytes result = before;
      place(result, items, stride);
      return result;
    };
    struct Moved {
      std::optional<Arrays::Id> input;
      std::optional<Arrays::Id> output;
    };
    // Both are the same array in place.
    const auto add = [&](const char* input_name, const char* output_name, const Bytes& items, std::uint32_t stride,
                         std::uint32_t unit, bool is_written) {
      Moved moved;
      moved.input = arrays.add(input_name, items, unit, current.draw_first());
      if (shape.in_place) {
        moved.output = moved.input;
        arrays.expect(*moved.output, sorted(items, items, stride));
      } else if (is_written) {
        const Bytes before = unwritten(items.size());
        moved.output = arrays.add(output_name, before, unit, current.draw_first());
        arrays.expect(*moved.output, sorted(items, before, stride));
      }
      return moved;
    };
    const Moved moved_keys = add("keys", "sorted_keys", key_bytes, key_stride, key_unit, shape.write_keys);
    Moved moved_values;
    if (shape.value) {
      const std::uint32_t stride = shape.value->stride_bytes;
      Bytes values(std::size_t{count} * stride);
      for (std::byte& byte : values) byte = static_cast<std::byte>(random.next());
      moved_values = add("values", "sorted_values", values, stride, std::max(4u, stride), true);
    }
    std::optional<Arrays::Id> indices;
    if (shape.write_indices) {
      std::vector<std::uint32_t> numbers(count);
      std::iota(numbers.begin(), numbers.end(), 0u);
      const Bytes before = unwritten(std::size_t{count} * 4);
      indices = arrays.add("indices", before, 4, current.draw_first());
      arrays.expect(*indices, sorted(fuzz::bytes_of(numbers), before, 4));
    }
    const auto item_count = arrays.add_count("item_count", device_count.value_or(0), current.draw_first());
    const auto segments_on_device = arrays.add_count("segment_count", segment_count.value_or(0), current.draw_first());
    std::optional<Arrays::Id> begins;
    std::optional<Arrays::Id> ends;
    if (segments != nullptr) {
      std::vector<std::uint32_t> first = segments->begins;
      if (segments->is_offsets) first.push_back(segments->ends.empty() ? 0 : segments->ends.back());
      begins = arrays.add("segment_begins", fuzz::bytes_of(first), 4, current.draw_first());
      if (!segments->is_offsets) {
        ends = arrays.add("segment_ends", fuzz::bytes_of(segments->ends), 4, current.draw_first());
      }
    }
    if (const Status created = arrays.create(current.context); !created) return created.error().message;

    SortBuffers buffers;
    SortShape asked = shape;
    // A call in place says so, or gives the same views twice.
    const bool by_views = shape.in_place && one_in(random, 2);
    if (by_views) asked.in_place = false;
    if (!shape.in_place || by_views) {
      buffers.keys = arrays.view(*moved_keys.input);
      if (shape.value) buffers.values = arrays.view(*moved_values.input);
    }
    if (shape.write_keys) buffers.sorted_keys = arrays.view(*moved_keys.output);
    if (shape.value) buffers.sorted_values = arrays.view(*moved_values.output);
    if (indices) buffers.indices = arrays.view(*indices);
    if (device_count) buffers.item_count = arrays.view(item_count);
    if (segment_count) buffers.segment_count = arrays.view(segments_on_device);
    if (begins) {
      buffers.segment_begins = arrays.view(*begins);
      buffers.segment_ends = ends ? arrays.view(*ends) : buffers.segment_begins;
      if (!ends) buffers.segment_ends.offset_bytes += 4;
    }
    return run_and_compare(current, arrays, !shape.in_place, [&](RecordTarget target) {
      return record_sort(current.context, target, asked, buffers, tuning);
    });
  }
};

}  // namespace

std::optional<std::string> run_sort(Case& current) {
  current.text = "sort";
  SortCase sort(current);
  sort.draw(false);
  const auto order = sort.order_of_part(0, sort.used_count);
  return sort.run(nullptr, {},
                  [&](Bytes& result, const Bytes& items, std::size_t stride) { gather(result, items, stride, order); });
}

std::optional<std::string> run_segments(Case& current) {
  current.text = "sort of segments";
  SortCase sort(current);
  sort.draw(true);
  Random& random = current.random;
  const Segments segments =
      draw_segments(random, sort.count, std::max(2u, std::min(sort.used.one_workgroup_items, 600u)));
  const auto most = static_cast<std::uint32_t>(segments.begins.size());
  std::optional<std::uint32_t> on_device;
  if (one_in(random, 4)) on_device = draw_device_count(random, most);
  sort.shape.segment_count = {most, on_device.has_value()};
  if (one_in(random, 3)) {
    sort.shape.longest_segment = segments.longest + (one_in(random, 2) ? 0 : random.below(50));
  }
  current.text += std::format(", {} segments of up to {}{}{}{}", most, segments.longest,
                              sort.shape.longest_segment != 0 ? ", known" : "", segments.is_offsets ? ", offsets" : "",
                              on_device ? std::format(", {} on the device", *on_device) : "");
  struct Part {
    std::uint32_t begin;
    std::vector<std::uint32_t> order;
  };
  std::vector<Part> parts;
  for (std::uint32_t s = 0; s < std::min(most, on_device.value_or(most)); ++s) {
    const std::uint32_t begin = segments.begins[s];
    const std::uint32_t end = std::min(segments.ends[s], sort.used_count);
    if (begin < end) parts.push_back({begin, sort.order_of_part(begin, end)});
  }
  return sort.run(&segments, on_device, [&](Bytes& result, const Bytes& items, std::size_t stride) {
    for (const Part& part : parts) gather(result, items, stride, part.order, part.begin, part.begin);
  });
}

}  // namespace upsweep::fuzz
