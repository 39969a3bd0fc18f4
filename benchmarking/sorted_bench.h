// SPDX-License-Identifier: Apache-2.0
// What benchmarks of sorts share: buffers for keys, and values that number them, and the check of what came out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarking/library_bench.h"
#include "benchmarking/sorted_check.h"

namespace upsweep::bench {

class SortedBench : public LibraryBench {
 public:
  // `segment_items`: on average, as segment_begin(); 0: one sort of all.
  SortedBench(std::string primitive, std::string operation, ElementType type, bool has_values,
              std::uint64_t segment_items = 0)
      : LibraryBench(std::move(primitive), std::move(operation), std::move(type)),
        has_values_(has_values),
        segment_items_(segment_items) {}

  Status prepare(Session& session, std::uint64_t most_items) override;
  Result<Expectation> expect(Session& session, std::uint64_t item_count) override;

 protected:
  [[nodiscard]] bool has_values() const { return has_values_; }
  [[nodiscard]] std::uint64_t segment_items() const { return segment_items_; }
  [[nodiscard]] const BufferView& sorted_keys() const { return sorted_keys_; }
  [[nodiscard]] const BufferView& values() const { return values_; }
  [[nodiscard]] const BufferView& sorted_values() const { return sorted_values_; }

 private:
  [[nodiscard]] Result<Verdict> check(Context& context, std::uint64_t item_count) const;

  bool has_values_;
  std::uint64_t segment_items_;
  BufferView sorted_keys_;
  BufferView values_;
  BufferView sorted_values_;
};

}  // namespace upsweep::bench
