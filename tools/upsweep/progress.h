// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <format>
#include <iostream>
#include <string>

namespace upsweep::cli {

// Says on stderr how far a command is: once it takes longer than a second, and seldom where nobody watches. Of small
// files nothing: there it is the compiler of kernels that takes the time.
class Progress {
 public:
  Progress(std::string what, std::uint64_t total_bytes) : what_(std::move(what)), total_bytes_(total_bytes) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (is_shown_ && is_terminal_) std::cerr << "\r\033[K" << std::flush;
  }

  void advance(std::uint64_t bytes) { at(done_bytes_ += bytes); }

  void at(std::uint64_t bytes) {
    const auto now = Clock::now();
    if (now < next_ || total_bytes_ < least_bytes) return;
    next_ = now + (is_terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(5000));
    is_shown_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const std::string line =
        std::format("{}: {:.0f} % of {:.2f} GB, {:.2f} GB/s", what_,
                    100 * static_cast<double>(bytes) / static_cast<double>(total_bytes_),
                    static_cast<double>(total_bytes_) / 1e9, static_cast<double>(bytes) / seconds / 1e9);
    std::cerr << (is_terminal_ ? "\r\033[K" + line : line + '\n') << std::flush;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t least_bytes = std::uint64_t{8} << 20;
  std::string what_;
  std::uint64_t total_bytes_;
  std::uint64_t done_bytes_ = 0;
  bool is_terminal_ = isatty(STDERR_FILENO) != 0;
  bool is_shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(1);
};

}  // namespace upsweep::cli
