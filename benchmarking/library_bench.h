// SPDX-License-Identifier: Apache-2.0
// What every primitive tells the benchmark, and the run over types and sizes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarking/ladder/steps.h"
#include "benchmarking/session.h"

namespace upsweep::bench {

// One primitive with one operation on one type. A new primitive derives from it and has a line in bench.cpp.
class LibraryBench {
 public:
  LibraryBench(std::string primitive, std::string operation, ElementType type)
      : primitive_(std::move(primitive)), operation_(std::move(operation)), type_(std::move(type)) {}
  virtual ~LibraryBench() = default;
  LibraryBench(const LibraryBench&) = delete;
  LibraryBench& operator=(const LibraryBench&) = delete;

  // Fills the inputs and makes the buffers for up to `most_items`.
  virtual Status prepare(Session& session, std::uint64_t most_items) = 0;
  virtual Result<Work> make(Session& session, std::uint64_t item_count) = 0;
  virtual Result<Expectation> expect(Session& session, std::uint64_t item_count) = 0;
  // After expect(): why this size is not to be had, or nothing.
  [[nodiscard]] virtual std::string refusal() const { return {}; }
  // The sizes to show where the user asks for these, or for none; `usual` are those of most primitives.
  [[nodiscard]] virtual std::vector<std::uint64_t> sizes(const std::vector<std::uint64_t>& asked,
                                                         const std::vector<std::uint64_t>& usual,
                                                         const DeviceTraits& traits) const;
  // What the rows of the report call this way of doing it.
  [[nodiscard]] virtual std::string step() const { return std::string(library_step); }

  [[nodiscard]] const std::string& primitive() const { return primitive_; }
  [[nodiscard]] const std::string& operation() const { return operation_; }
  [[nodiscard]] const ElementType& type() const { return type_; }
  [[nodiscard]] std::uint64_t words_of(std::uint64_t item_count) const { return item_count * type_.stride_bytes / 4; }
  [[nodiscard]] Measurement new_row(std::uint64_t item_count, std::string_view step, std::string_view title) const;

 private:
  std::string primitive_;
  std::string operation_;
  ElementType type_;
};
using LibraryBenches = std::vector<std::unique_ptr<LibraryBench>>;

// What the user asked for cannot be had.
inline std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorKind::invalid_request, std::move(message));
}

// The largest of the counts that the device has room for, or 0.
std::uint64_t most_that_fit(const Session& session, const LibraryBench& bench, const std::vector<std::uint64_t>& items);

// The library at all sizes; fills the report.
Status run_sizes(Session& session, LibraryBench& bench, const std::vector<std::uint64_t>& items);

}  // namespace upsweep::bench
