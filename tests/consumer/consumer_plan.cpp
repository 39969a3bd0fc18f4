// SPDX-License-Identifier: Apache-2.0
// Plans a reduction and prints the plan.
#include <cstdio>

#include "upsweep/reduce.h"

// A warning under -Wconversion and -Wshadow, an error with -Werror: upsweep's own flags must not reach its users.
static int narrowed(long value) {
  {
    long value = 0;
    (void)value;
  }
  return value;
}

int main() {
  const upsweep::ReduceShape shape{.item_count = upsweep::Count::on_host(narrowed(1000000))};
  const auto plan = upsweep::plan_reduce(shape, upsweep::DeviceTraits::webgpu_minimum());
  if (!plan) {
    std::fprintf(stderr, "%s\n", plan.error().message.c_str());
    return 1;
  }
  const std::string text = to_string(*plan);
  std::puts(text.c_str());
  return text.find("reduce_tile") == std::string::npos ? 1 : 0;
}
