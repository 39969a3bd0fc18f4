// SPDX-License-Identifier: Apache-2.0
// What primitives must make of the inputs: every word of their outputs, computed on the host one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "benchmarking/input.h"
#include "upsweep/buffer_view.h"
#include "upsweep/context.h"
#include "upsweep/scan.h"
#include "upsweep/status.h"

namespace upsweep::bench {

// Gives the next words of a sequence. A copy goes on from the same place by itself.
using WordSource = std::function<void(std::span<std::uint32_t>)>;

// Words are compared so many at a time.
constexpr std::size_t chunk_words = std::size_t{1} << 23;

struct ExpectedWords {
  BufferView view;
  std::uint64_t word_count = 0;
  WordSource source;
  bool is_float = false;  // f32 that may differ in their last bits
};

// Compares all words. Words that are integers must be equal; sums of f32 are compared with sums in double.
Verdict check_words(std::span<const std::uint32_t> words, WordSource source, bool is_float);
// The same piece by piece: `source` goes on where the words end.
Verdict check_next(std::span<const std::uint32_t> words, WordSource& source, bool is_float);
// The same with what the device has; waits.
Result<Verdict> check_words(Context& context, const ExpectedWords& expected);
Verdict both(const Verdict& a, const Verdict& b);

// Prefix sums of u32, f32 and u64 items.
WordSource expected_sums(ScanKind kind, Scalar scalar);
// Prefix sums of u32 items that begin anew with every run.
WordSource expected_sums_by_key(ScanKind kind);

// The predicate of the selections: half of the items pass.
constexpr bool is_selected(std::uint32_t item) { return item < 0x80000000u; }
std::uint64_t count_selected(std::uint64_t item_count);
WordSource expected_selected();

// Of each run: its key, its length, the sum of the items beside it.
std::uint64_t count_runs(const Runs& runs);
WordSource expected_run_keys(const Runs& runs);
WordSource expected_run_lengths(const Runs& runs);
WordSource expected_run_sums(const Runs& runs, Scalar scalar);

// One word.
WordSource expected_word(std::uint64_t word);

}  // namespace upsweep::bench
