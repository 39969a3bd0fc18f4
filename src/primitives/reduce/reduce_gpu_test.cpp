// SPDX-License-Identifier: Apache-2.0
#include "testing/gpu_test.h"

namespace upsweep::testing {
namespace {

class ReduceGpu : public GpuTest {};
INSTANTIATE_TEST_SUITE_P(, ReduceGpu, all_profiles, profile_name);

TEST_P(ReduceGpu, SumsOnes) {
  for (const std::uint32_t n :
       {0u, 1u, 2u, 3u, 4u, 5u, 100u, 255u, 256u, 257u, 8191u, 8192u, 8193u, 100001u, 1001000u}) {
    SCOPED_TRACE(n);
    const std::vector<std::uint32_t> items(n, 3);
    const GuardedBuffer input(context(), bytes_of(items), 4);
    const GuardedBuffer output(context(), bytes_of(std::vector<std::uint32_t>(1, 77)), 8);
    const ReduceShape shape{.item_count = Count::on_host(n), .input = ElementType::u32()};
    run([&](WGPUCommandEncoder encoder) {
      return record_reduce(context(), encoder, shape, {.input = input.view(), .output = output.view()},
                           reduce_tuning());
    });
    EXPECT_EQ(items_of<std::uint32_t>(output.read_and_check_guards())[0], 3 * n);
  }
}

}  // namespace
}  // namespace upsweep::testing
