// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/ladder/cpu_steps.h"

#include <algorithm>
#include <numeric>
#include <thread>
#include <vector>

#ifdef UPSWEEP_HAS_EIGEN
#include <Eigen/SparseCore>
#endif

namespace upsweep::bench {

std::uint32_t cpu_sum(std::span<const std::uint32_t> items) {
  std::uint32_t sum = 0;
  for (const std::uint32_t item : items) sum += item;
  return sum;
}

double cpu_sum(std::span<const float> items) {
  double sum = 0;
  for (const float item : items) sum += item;
  return sum;
}

void cpu_exclusive_sum(std::span<const std::uint32_t> items, std::span<std::uint32_t> sums) {
  std::exclusive_scan(items.begin(), items.end(), sums.begin(), 0u);
}

void cpu_exclusive_sum(std::span<const float> items, std::span<float> sums) {
  std::exclusive_scan(items.begin(), items.end(), sums.begin(), 0.0);
}

void cpu_histogram(std::span<const float> items, std::span<std::uint32_t> counts) {
  const auto bin_count = static_cast<float>(counts.size());
  for (const float item : items) {
    if (item >= 0.0f && item < 1.0f) ++counts[static_cast<std::size_t>(item * bin_count)];
  }
}

#ifdef UPSWEEP_HAS_EIGEN

std::string_view cpu_spmv_title() { return "CPU, one thread, CSR of Eigen"; }

void cpu_spmv(std::span<const std::uint32_t> row_offsets, std::span<const std::uint32_t> columns,
              std::span<const float> values, std::span<const float> x, std::span<float> y) {
  // Its indices are signed, hence the most entries; with 64 bits each it would read half as much again.
  using Matrix = Eigen::SparseMatrix<float, Eigen::RowMajor, int>;
  const auto as_ints = [](std::span<const std::uint32_t> items) { return reinterpret_cast<const int*>(items.data()); };
  const auto size = [](auto items) { return static_cast<Eigen::Index>(items.size()); };
  const Eigen::Map<const Matrix> matrix(size(y), size(x), size(values), as_ints(row_offsets), as_ints(columns),
                                        values.data());
  Eigen::Map<Eigen::VectorXf>(y.data(), size(y)).noalias() =
      matrix * Eigen::Map<const Eigen::VectorXf>(x.data(), size(x));
}

#else

std::string_view cpu_spmv_title() { return "CPU, one thread, a loop over CSR"; }

void cpu_spmv(std::span<const std::uint32_t> row_offsets, std::span<const std::uint32_t> columns,
              std::span<const float> values, std::span<const float> x, std::span<float> y) {
  for (std::size_t row = 0; row < y.size(); ++row) {
    std::size_t k = row_offsets[row];
    const std::size_t end = row_offsets[row + 1];
    float even = 0;
    float odd = 0;
    for (; k + 1 < end; k += 2) {
      even += values[k] * x[columns[k]];
      odd += values[k + 1] * x[columns[k + 1]];
    }
    if (k < end) even += values[k] * x[columns[k]];
    y[row] = even + odd;
  }
}

#endif

void cpu_sort(std::span<std::uint32_t> items) { std::ranges::sort(items); }

void cpu_stable_sort(std::span<std::uint32_t> items, std::span<std::uint32_t> spare, unsigned thread_count) {
  // A power of two, so that parts pair up.
  std::size_t parts = 1;
  while (parts < thread_count) parts *= 2;
  const auto part = [&](std::span<std::uint32_t> all, std::size_t number, std::size_t of) {
    const std::size_t begin = all.size() * number / of;
    return all.subspan(begin, all.size() * (number + 1) / of - begin);
  };
  const auto on_threads = [](std::size_t count, auto work) {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work, i);
  };
  on_threads(parts, [&](std::size_t i) { std::ranges::stable_sort(part(items, i, parts)); });
  std::span<std::uint32_t> from = items;
  std::span<std::uint32_t> to = spare;
  for (; parts > 1; parts /= 2) {
    on_threads(parts / 2, [&](std::size_t i) {
      std::ranges::merge(part(from, 2 * i, parts), part(from, 2 * i + 1, parts), part(to, i, parts / 2).begin());
    });
    std::swap(from, to);
  }
  if (from.data() != items.data()) std::ranges::copy(from, items.begin());
}

}  // namespace upsweep::bench
