// SPDX-License-Identifier: Apache-2.0
// An operator and a type of one's own, as WGSL text: the least and the greatest item in one pass over the data.
#include <array>
#include <cstdio>
#include <cstring>
#include <print>
#include <vector>

#include "upsweep/upsweep.h"

namespace {

struct Extent {
  float low;
  float high;
};

int fail(const upsweep::Error& error) {
  std::println(stderr, "{}", error.message);
  return 1;
}

}  // namespace

int main() {
  auto created = upsweep::Context::create();
  if (!created) return fail(created.error());
  upsweep::Context& context = **created;

  const auto extent = upsweep::ElementType::structure("Extent", "struct Extent { low: f32, high: f32 }", 8, 8);
  if (!extent) return fail(extent.error());
  // WGSL has no literal for infinity: the identity is the range from the greatest float down to the least.
  const auto unite =
      upsweep::BinaryOperator::custom("unite",
                                      "fn unite(a: Extent, b: Extent) -> Extent {\n"
                                      "  return Extent(min(a.low, b.low), max(a.high, b.high));\n"
                                      "}\n",
                                      "Extent(0x1.fffffep+127f, -0x1.fffffep+127f)", /*commutative=*/true);

  // Checks for debug builds: is the stride what the device says, is the operator associative, is its identity one?
  constexpr std::array samples{Extent{1, 2}, Extent{-3, 7}, Extent{0, 0}, Extent{5, 5}, Extent{-1, 9}, Extent{4, 6}};
  if (const auto ok = context.check_element(*extent); !ok) return fail(ok.error());
  if (const auto ok = context.check_operator(unite, *extent, std::as_bytes(std::span(samples))); !ok)
    return fail(ok.error());

  std::vector<float> depths(50'000);
  for (std::size_t i = 0; i < depths.size(); ++i) depths[i] = static_cast<float>(i * 7919 % depths.size()) - 20'000;
  // The transform turns each item into what the operator works on.
  const upsweep::ReduceShape shape{.item_count = upsweep::Count::on_host(depths.size()),
                                   .input = upsweep::ElementType::f32(),
                                   .transform = upsweep::Transform::of("Extent(x, x)"),
                                   .value = *extent,
                                   .combine = unite};
  const auto bytes = upsweep::host::reduce_bytes(context, shape, std::as_bytes(std::span(depths)));
  if (!bytes) return fail(bytes.error());
  Extent found{};
  std::memcpy(&found, bytes->data(), sizeof(found));
  std::println("items from {} to {}, expected -20000 to 29999", found.low, found.high);
  return found.low == -20'000 && found.high == 29'999 ? 0 : 1;
}
