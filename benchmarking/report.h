// SPDX-License-Identifier: Apache-2.0
// What a run of the benchmark found, as tables for people and JSON for programs. No device.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "benchmarking/harness.h"
#include "benchmarking/rates.h"

namespace upsweep::bench {

// One step or primitive at one size.
struct Measurement {
  std::string primitive;
  std::string operation;
  std::string type;
  std::string step;   // "library", or a name of the ladder
  std::string title;  // of the step, for tables
  std::uint64_t item_count = 0;
  std::uint32_t item_bytes = 4;
  std::uint64_t bytes_moved = 0;  // at least, by any implementation
  std::uint64_t flops = 0;        // 0: the work is not counted in them
  std::string detail = {};        // of the input, for tables
  std::string not_timed;          // the reason, where there are no times
  std::optional<Timing> call;
  std::optional<Timing> amortised;
  bool correct = false;
  double relative_error = 0;
  // Steps on the device only.
  bool has_plan = false;
  std::uint32_t pass_count = 0;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t plan_bytes = 0;     // that the plan's kernels read and write
  std::optional<double> create_ms;  // the pipelines that this measurement was the first to need
  double record_us = 0;

  // `call` where it was timed, else nothing.
  [[nodiscard]] double call_ms() const { return call ? call->ms.median : 0; }
};

struct Report {
  std::string version;
  std::string device;
  bool is_cpu = false;  // a software adapter
  std::string driver;
  std::string backend;
  std::string date;   // YYYY-MM-DD
  std::string clock;  // what the times are
  std::uint32_t samples = 0;
  Rate copy;
  Rate read;
  std::vector<Measurement> measurements;
};

// "2^20" from 1024 on, else the number.
std::string format_items(std::uint64_t item_count);
std::string format_bytes(std::uint64_t bytes);

// The header of all tables: device, driver, date, rates.
void print_header(std::ostream& out, const Report& report);
// What the columns of the tables below it are.
void print_ladder_columns(std::ostream& out);
void print_size_columns(std::ostream& out);
// The ladder at one size; rows are those of one type and size, the CPU first.
void print_ladder(std::ostream& out, const Report& report, const std::vector<Measurement>& rows);
// The library at a list of sizes.
void print_sizes(std::ostream& out, const Report& report);
// Passes, scratch, pipeline creation and recording, at each step's largest size.
void print_pipelines(std::ostream& out, const Report& report);

// The schema upsweep-bench-1, which compare.py reads.
std::string to_json(const Report& report);

}  // namespace upsweep::bench
