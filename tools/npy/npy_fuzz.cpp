// libFuzzer entry for the reader. Build and run by hand from this folder:
//   clang++-21 -std=c++23 -g -O1 -fsanitize=fuzzer,address,undefined *_fuzz.cpp npy.cpp input_file.cpp
//     output_file.cpp -o npy_fuzz
//   ./npy_fuzz -max_total_time=60 CORPUS
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "npy.h"

namespace {

using upsweep::npy::Array;
using upsweep::npy::Dtype;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto array = Array::from_memory(std::as_bytes(std::span(data, size)), "fuzz");
  if (!array) {
    require(array.error().find('\n') == std::string::npos);
    return 0;
  }
  const std::uint64_t items = array->item_count();
  require(array->header().data_offset + array->header().data_size + array->trailing_size() == size);
  for (int target = 0; target <= static_cast<int>(Dtype::f8); ++target) {
    const auto dtype = static_cast<Dtype>(target);
    const std::uint64_t half = items / 2;
    std::vector<std::byte> out(static_cast<std::size_t>(items - half) * item_size(dtype));
    require(array->read_as(half, items - half, dtype, out).has_value() == widens_exactly(array->dtype(), dtype));
    require(!array->read_as(half, items - half + 1, dtype, out));
  }

  // What we write about this array must read back as the same.
  const std::string header = upsweep::npy::make_header(array->dtype(), array->shape());
  std::vector<std::byte> file(header.size() + static_cast<std::size_t>(array->header().data_size));
  std::ranges::copy(std::as_bytes(std::span(header)), file.begin());
  require(array->read(0, items, std::span(file).subspan(header.size())).has_value());
  const auto again = Array::from_memory(file, "again");
  // A short spelling of many dimensions may become longer than the reader's limit.
  if (!again) {
    require(header.size() > (1U << 20));
    return 0;
  }
  require(again->dtype() == array->dtype() && std::ranges::equal(again->shape(), array->shape()));
  require(again->span().has_value() && again->trailing_size() == 0);
  return 0;
}
