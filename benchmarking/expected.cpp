// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/expected.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "plan/narrow.h"

namespace upsweep::bench {
namespace {

// Relative to sums in double. In a single pass the totals of tiles are added one after the other, thousands of them in
// the worst case.
constexpr double f32_tolerance = 1e-4;

// Each gives the next sums, from where the last call ended.
class SumsOfWords {
 public:
  explicit SumsOfWords(ScanKind kind) : is_inclusive_(kind == ScanKind::inclusive) {}
  void operator()(std::span<std::uint32_t> words) {
    for (std::uint32_t& word : words) {
      const std::uint32_t item = input_hash(i_++);
      word = is_inclusive_ ? sum_ + item : sum_;
      sum_ += item;
    }
  }

 private:
  bool is_inclusive_;
  std::uint32_t i_ = 0;
  std::uint32_t sum_ = 0;
};

class SumsOfFloats {
 public:
  explicit SumsOfFloats(ScanKind kind) : is_inclusive_(kind == ScanKind::inclusive) {}
  void operator()(std::span<std::uint32_t> words) {
    for (std::uint32_t& word : words) {
      const double item = input_float(i_++);
      word = std::bit_cast<std::uint32_t>(static_cast<float>(is_inclusive_ ? sum_ + item : sum_));
      sum_ += item;
    }
  }

 private:
  bool is_inclusive_;
  std::uint32_t i_ = 0;
  double sum_ = 0;
};

class SumsOfU64 {
 public:
  explicit SumsOfU64(ScanKind kind) : is_inclusive_(kind == ScanKind::inclusive) {}
  // Chunks hold whole items.
  void operator()(std::span<std::uint32_t> words) {
    for (std::size_t w = 0; w + 1 < words.size(); w += 2) {
      const std::uint64_t item = input_u64(i_++);
      const std::uint64_t value = is_inclusive_ ? sum_ + item : sum_;
      words[w] = u32(value);
      words[w + 1] = u32(value >> 32);
      sum_ += item;
    }
  }

 private:
  bool is_inclusive_;
  std::uint32_t i_ = 0;
  std::uint64_t sum_ = 0;
};

class SumsByKey {
 public:
  explicit SumsByKey(ScanKind kind) : is_inclusive_(kind == ScanKind::inclusive) {}
  void operator()(std::span<std::uint32_t> words) {
    for (std::uint32_t& word : words) {
      if (begins_run(i_)) sum_ = 0;
      const std::uint32_t item = input_hash(i_++);
      word = is_inclusive_ ? sum_ + item : sum_;
      sum_ += item;
    }
  }

 private:
  bool is_inclusive_;
  std::uint32_t i_ = 0;
  std::uint32_t sum_ = 0;
};

class Selected {
 public:
  void operator()(std::span<std::uint32_t> words) {
    for (std::uint32_t& word : words) {
      do {
        word = input_hash(i_++);
      } while (!is_selected(word));
    }
  }

 private:
  std::uint32_t i_ = 0;
};

class RunKeys {
 public:
  explicit RunKeys(const Runs& runs) : mean_(runs.mean) {}
  void operator()(std::span<std::uint32_t> words) {
    for (std::uint32_t& word : words) {
      while (!begins_run(i_, mean_)) ++i_;
      word = input_hash(i_++);
    }
  }

 private:
  std::uint32_t mean_;
  std::uint32_t i_ = 0;
};

class SumsOfFloatRuns {
 public:
  explicit SumsOfFloatRuns(const Runs& runs) : end_(u32(runs.item_count)), mean_(runs.mean) {}
  void operator()(std::span<std::uint32_t> words) {
    for (std::uint32_t& word : words) {
      double sum = 0;
      do {
        sum += input_float(i_++);
      } while (i_ < end_ && !begins_run(i_, mean_));
      word = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    }
  }

 private:
  std::uint32_t end_;
  std::uint32_t mean_;
  std::uint32_t i_ = 0;
};

// Adds something of every item of a run; the last run ends with the items.
template <typename Addend>
class RunTotals {
 public:
  RunTotals(const Runs& runs, Addend addend) : end_(u32(runs.item_count)), mean_(runs.mean), addend_(addend) {}
  void operator()(std::span<std::uint32_t> words) {
    for (std::uint32_t& word : words) {
      word = 0;
      do {
        word += addend_(i_++);
      } while (i_ < end_ && !begins_run(i_, mean_));
    }
  }

 private:
  std::uint32_t end_;
  std::uint32_t mean_;
  Addend addend_;
  std::uint32_t i_ = 0;
};

}  // namespace

Verdict both(const Verdict& a, const Verdict& b) {
  return {a.correct && b.correct, std::max(a.relative_error, b.relative_error)};
}

Verdict check_next(std::span<const std::uint32_t> words, WordSource& source, bool is_float) {
  std::vector<std::uint32_t> expected(std::min(words.size(), chunk_words));
  Verdict verdict{.correct = true};
  for (std::size_t first = 0; first < words.size(); first += expected.size()) {
    const auto got = words.subspan(first, std::min(expected.size(), words.size() - first));
    const std::span wanted = std::span(expected).first(got.size());
    source(wanted);
    if (!is_float) {
      verdict.correct = verdict.correct && std::memcmp(got.data(), wanted.data(), got.size_bytes()) == 0;
      continue;
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double number = std::bit_cast<float>(wanted[i]);
      const double error = std::abs(static_cast<double>(std::bit_cast<float>(got[i])) - number);
      const double relative = number == 0 ? error : error / std::abs(number);
      // NaN is not right.
      verdict.correct = verdict.correct && relative <= f32_tolerance;
      verdict.relative_error = std::max(verdict.relative_error, relative);
    }
  }
  return verdict;
}

Verdict check_words(std::span<const std::uint32_t> words, WordSource source, bool is_float) {
  return check_next(words, source, is_float);
}

WordSource expected_sums(ScanKind kind, Scalar scalar) {
  if (scalar == Scalar::f32) return SumsOfFloats(kind);
  if (scalar == Scalar::u64) return SumsOfU64(kind);
  return SumsOfWords(kind);
}

WordSource expected_sums_by_key(ScanKind kind) { return SumsByKey(kind); }

std::uint64_t count_selected(std::uint64_t item_count) {
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < item_count; ++i) count += is_selected(input_hash(u32(i))) ? 1u : 0u;
  return count;
}

WordSource expected_selected() { return Selected(); }

std::uint64_t count_runs(const Runs& runs) {
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < runs.item_count; ++i) count += begins_run(u32(i), runs.mean) ? 1u : 0u;
  return count;
}

WordSource expected_run_keys(const Runs& runs) { return RunKeys(runs); }

WordSource expected_run_lengths(const Runs& runs) {
  return RunTotals(runs, [](std::uint32_t) { return 1u; });
}

WordSource expected_run_sums(const Runs& runs, Scalar scalar) {
  if (scalar == Scalar::f32) return SumsOfFloatRuns(runs);
  return RunTotals(runs, [](std::uint32_t i) { return input_hash(i); });
}

WordSource expected_word(std::uint64_t word) {
  return [word](std::span<std::uint32_t> words) { std::ranges::fill(words, u32(word)); };
}

}  // namespace upsweep::bench
