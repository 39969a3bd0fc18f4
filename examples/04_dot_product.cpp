// SPDX-License-Identifier: Apache-2.0
// The dot product of two arrays: a transform of two inputs, then a sum. Nothing is stored in between.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <print>
#include <vector>

#include "upsweep/upsweep.h"

int main() {
  const auto context = upsweep::Context::create();
  if (!context) return std::println(stderr, "{}", context.error().message), 1;

  constexpr std::size_t count = 300'000;
  std::vector<float> weights(count);
  std::vector<float> values(count);
  double expected = 0;
  double magnitudes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    weights[i] = 1.0f / static_cast<float>(1 + i % 1000);
    values[i] = static_cast<float>(i % 17) - 8;
    expected += double{weights[i]} * values[i];
    magnitudes += std::abs(double{weights[i]} * values[i]);
  }

  const upsweep::ReduceShape shape{.item_count = upsweep::Count::on_host(count),
                                   .input = upsweep::ElementType::f32(),
                                   .second_input = upsweep::ElementType::f32(),
                                   .transform = upsweep::Transform::of("x * y"),
                                   .combine = upsweep::BinaryOperator::sum()};
  const auto bytes = upsweep::host::reduce_bytes(**context, shape, std::as_bytes(std::span(weights)),
                                                 std::as_bytes(std::span(values)));
  if (!bytes) return std::println(stderr, "{}", bytes.error().message), 1;
  float dot = 0;
  std::memcpy(&dot, bytes->data(), sizeof(dot));

  // The plan states the bound of the sum's error; each product is rounded once more.
  const auto plan = upsweep::plan_reduce(shape, (*context)->traits());
  if (plan) std::println("{}", plan->notes.back());
  std::println("dot product of {} pairs: {}, in double {}", count, dot, expected);
  return std::abs(dot - expected) <= 1e-5 * magnitudes ? 0 : 1;
}
