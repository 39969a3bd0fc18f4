// Speed of the Matrix Market reader and writer.
// usage: matrix_market_bench [MEGABYTES [FILE [THREADS]]]
//
// Writes a file of real general entries such as "123456 789012 1.2345678901234e-05" and reads it several times from
// the page cache, on one thread and on THREADS (default: one per core). MB are 10^6 bytes; the best of 7 counts.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <print>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "matrix_market.h"

namespace {

using upsweep::matrix_market::Matrix;
using upsweep::matrix_market::Result;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A value with 14 digits, near 1e-5.
double value_of(std::mt19937_64& random) {
  const auto digits = 10'000'000'000'000 + static_cast<std::int64_t>(random() % 90'000'000'000'000);
  return static_cast<double>(digits) / 1e18;
}

}  // namespace

int main(int argument_count, char** arguments) try {
  const double megabytes = argument_count > 1 ? std::strtod(arguments[1], nullptr) : 200;
  const std::string path =
      argument_count > 2 ? arguments[2] : (std::filesystem::temp_directory_path() / "matrix_market_bench.mtx").string();
  const unsigned threads = argument_count > 3 ? static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 10))
                                              : std::thread::hardware_concurrency();
  std::mt19937_64 random(1);
  const auto count = static_cast<std::size_t>(megabytes * 1e6 / 33.8);
  std::vector<std::uint32_t> rows(count);
  std::vector<std::uint32_t> columns(count);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = static_cast<std::uint32_t>(random() % 1'000'000);
    columns[i] = static_cast<std::uint32_t>(random() % 1'000'000);
    values[i] = value_of(random);
  }
  auto start = std::chrono::steady_clock::now();
  const auto written = upsweep::matrix_market::write(
      path, {.row_count = 1'000'000, .column_count = 1'000'000, .rows = rows, .columns = columns, .values = values});
  if (!written) {
    std::println(stderr, "{}", written.error());
    return 1;
  }
  const double size = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
  std::println("{:.0f} MB, {} entries\nwrite, to the disk: {:.0f} MB/s", size, count, size / seconds_since(start));
  for (const unsigned thread_count : {1U, threads}) {
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 7; ++i) {
      start = std::chrono::steady_clock::now();
      const Result<Matrix> matrix = upsweep::matrix_market::read(path, {.thread_count = thread_count});
      best = std::min(best, seconds_since(start));
      if (!matrix || matrix->rows != rows || matrix->columns != columns || matrix->values != values) {
        std::println(stderr, "{}", matrix ? "what was read is not what was written" : matrix.error());
        return 1;
      }
    }
    std::println("read on {} threads: {:.3f} s, {:.0f} MB/s, {:.1f} million entries/s", thread_count, best, size / best,
                 static_cast<double>(count) / 1e6 / best);
  }
  std::filesystem::remove(path);
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
