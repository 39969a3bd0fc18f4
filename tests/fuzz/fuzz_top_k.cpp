// SPDX-License-Identifier: Apache-2.0
// Cases of top-k and nth element.
#include <algorithm>
#include <format>

#include "fuzz_keys.h"
#include "primitives/top_k/top_k_reference.h"

namespace upsweep::fuzz {

std::optional<std::string> run_top_k(Case& current) {
  Random& random = current.random;
  current.text = "top_k";
  current.choose_device();
  const KeyKind kind = pick(random, current.palette.keys);
  const auto tuning = pick(random, current.palette.top_ks);
  TopKShape shape{.key = type_of(kind), .key_is_f64 = kind == KeyKind::f64, .largest = current.palette.descending};
  if (one_in(random, 2)) shape.order = TopKOrder::input_order;
  if (one_in(random, 2)) shape.value = pick(random, current.palette.values);
  shape.write_keys = !one_in(random, 3);
  shape.write_indices = one_in(random, 2);
  shape.write_count = one_in(random, 2);
  shape.write_threshold = one_in(random, 2);
  if (!shape.write_keys && !shape.value && !shape.write_indices) shape.write_threshold = true;

  const TopKTuning used = tuning ? *tuning : select_top_k_tuning(shape, current.context.traits());
  const std::uint32_t tile = used.workgroup_size * used.items_per_thread;
  const std::uint32_t scan_tile = used.compaction.workgroup_size * used.compaction.rows;
  const std::uint32_t count =
      draw_count(random,
                 {used.workgroup_size, tile, tile * std::min(used.max_workgroups, 50u), scan_tile, 4 * scan_tile,
                  std::min(used.sort_all_items, 4096u), std::min(used.candidate_items, 3000u)},
                 one_in(random, 4) ? 6000 : 1500);
  const std::vector<std::uint32_t> sizes{
      1, 2, count / 10, count / 3, (count + 1) / 2, count / 2, count + 3, count - std::min(count, 1u), count};
  const std::uint32_t k = one_in(random, 2) ? pick(random, sizes) : random.below(one_in(random, 2) ? 70 : count + 1);
  std::optional<std::uint32_t> device_count;
  std::optional<std::uint32_t> device_k;
  if (one_in(random, 4)) device_count = draw_device_count(random, count);
  if (one_in(random, 4)) device_k = draw_device_count(random, k);
  shape.item_count = {count, device_count.has_value()};
  shape.k = {k, device_k.has_value()};
  current.text += std::format(", {} {} of {} {}", k, shape.largest ? "largest" : "smallest", count, name_of(kind));
  const Keys keys = draw_keys(random, kind, count, current.text);
  current.text += std::format(
      ", {}{}{}{}{}{}{}{}, {}", to_string(shape.order), shape.value ? " with " + shape.value->name : "",
      shape.write_keys ? ", keys" : "", shape.write_indices ? ", indices" : "", shape.write_count ? ", count" : "",
      shape.write_threshold ? ", threshold" : "", device_count ? std::format(", {} on the device", *device_count) : "",
      device_k ? std::format(", k {} on the device", *device_k) : "",
      tuning ? to_string(*tuning) : "tuning of the library");

  const std::uint32_t used_count = std::min(count, device_count.value_or(count));
  const std::uint32_t room = std::min(k, count);
  std::vector<std::uint32_t> order = order_of(keys.part(0, used_count), shape.largest);
  order.resize(std::min({std::size_t{k}, std::size_t{device_k.value_or(k)}, order.size()}));
  const std::optional<std::uint32_t> last = order.empty() ? std::nullopt : std::optional(order.back());
  if (shape.order == TopKOrder::input_order) std::ranges::sort(order);

  Arrays arrays = current.new_arrays();
  const std::uint32_t key_stride = shape.key.stride_bytes;
  const std::uint32_t key_unit = std::max(4u, key_stride);
  const Bytes key_bytes = fuzz::bytes_of(keys);
  const auto key_array = arrays.add("keys", key_bytes, key_unit, current.draw_first());
  const auto add_output = [&](const char* name, const Bytes& items, std::uint32_t stride) {
    Bytes result = unwritten(std::size_t{room} * stride);
    const auto id = arrays.add(name, result, std::max(4u, stride), current.draw_first());
    gather(result, items, stride, order);
    arrays.expect(id, result);
    return id;
  };
  std::optional<Arrays::Id> top_keys;
  std::optional<Arrays::Id> values;
  std::optional<Arrays::Id> top_values;
  std::optional<Arrays::Id> indices;
  std::optional<Arrays::Id> count_out;
  std::optional<Arrays::Id> threshold;
  if (shape.write_keys) top_keys = add_output("top_keys", key_bytes, key_stride);
  if (shape.value) {
    const std::uint32_t stride = shape.value->stride_bytes;
    Bytes items(std::size_t{count} * stride);
    for (std::byte& byte : items) byte = static_cast<std::byte>(random.next());
    values = arrays.add("values", items, std::max(4u, stride), current.draw_first());
    top_values = add_output("top_values", items, stride);
  }
  if (shape.write_indices) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < count; ++i) numbers.push_back(i);
    indices = add_output("indices", fuzz::bytes_of(numbers), 4);
  }
  if (shape.write_count) {
    count_out = arrays.add("count", unwritten(4), 4, current.draw_first());
    arrays.expect(*count_out, fuzz::bytes_of(std::vector{static_cast<std::uint32_t>(order.size())}));
  }
  if (shape.write_threshold) {
    threshold = arrays.add("threshold", unwritten(key_unit), key_unit, current.draw_first());
    if (last) {
      Bytes expected = with_numbers(keys, [&](const auto& numbers) {
        return fuzz::bytes_of(std::vector{testing::threshold_of(numbers[*last])});
      });
      expected.resize(key_unit);  // f16 takes a word, the upper half 0
      arrays.expect(*threshold, expected);
    }
  }
  const auto item_count =
      arrays.add("item_count", fuzz::bytes_of(std::vector{device_count.value_or(0)}), 4, current.draw_first());
  const auto wanted = arrays.add("k", fuzz::bytes_of(std::vector{device_k.value_or(0)}), 4, current.draw_first());
  if (const Status created = arrays.create(current.context); !created) return created.error().message;

  TopKBuffers buffers{.keys = arrays.view(key_array)};
  if (values) buffers.values = arrays.view(*values);
  if (top_keys) buffers.top_keys = arrays.view(*top_keys);
  if (top_values) buffers.top_values = arrays.view(*top_values);
  if (indices) buffers.indices = arrays.view(*indices);
  if (count_out) buffers.count = arrays.view(*count_out);
  if (threshold) buffers.threshold = arrays.view(*threshold);
  if (device_count) buffers.item_count = arrays.view(item_count);
  if (device_k) buffers.k = arrays.view(wanted);
  return run_and_compare(current, arrays, true, [&](RecordTarget target) {
    return record_top_k(current.context, target, shape, buffers, tuning);
  });
}

}  // namespace upsweep::fuzz
