// SPDX-License-Identifier: Apache-2.0
#include "benchmarking/report.h"

#include <algorithm>
#include <bit>
#include <format>
#include <ostream>

namespace upsweep::bench {
namespace {

constexpr std::string_view absent = "-";

// Four digits that matter, whatever the size.
std::string format_ms(double ms) {
  if (ms <= 0) return std::string(absent);
  if (ms < 0.1) return std::format("{:.5f}", ms);
  if (ms < 10) return std::format("{:.4f}", ms);
  return std::format("{:.2f}", ms);
}

std::string format_rate(double gb) {
  if (gb <= 0) return std::string(absent);
  return gb < 100 ? std::format("{:.2f}", gb) : std::format("{:.0f}", gb);
}

std::string format_share(double part, double whole) {
  return part > 0 && whole > 0 ? std::format("{:.1f}%", 100 * part / whole) : std::string(absent);
}

std::string format_factor(double factor) {
  if (factor <= 0) return std::string(absent);
  if (factor < 0.1) return std::format("{:.4f} x", factor);
  return factor < 100 ? std::format("{:.2f} x", factor) : std::format("{:.0f} x", factor);
}

std::string remark(const Measurement& row) {
  if (row.call && !row.correct) return "WRONG RESULT";
  if (!row.not_timed.empty()) return row.not_timed;
  const bool was_low = (row.call && row.call->clock_was_low) || (row.amortised && row.amortised->clock_was_low);
  return was_low ? "low clock" : "";
}

std::string name_of(const Measurement& row) {
  return row.step == "library" ? row.primitive + " " + row.operation : row.title;
}

// Columns padded to their widest cell; the first `left_columns` to the left, the rest to the right.
class Table {
 public:
  Table(std::vector<std::string> header, std::size_t left_columns) : left_columns_(left_columns) {
    rows_.push_back(std::move(header));
  }
  // `after` follows the last column: a remark.
  void add(std::vector<std::string> cells, std::string after = {}) {
    rows_.push_back(std::move(cells));
    after_.resize(rows_.size());
    after_.back() = std::move(after);
  }
  void print(std::ostream& out) {
    after_.resize(rows_.size());
    std::vector<std::size_t> widths(rows_[0].size());
    for (const auto& row : rows_) {
      for (std::size_t column = 0; column < row.size(); ++column) {
        widths[column] = std::max(widths[column], row[column].size());
      }
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::string line;
      for (std::size_t column = 0; column < rows_[i].size(); ++column) {
        const std::string& cell = rows_[i][column];
        const std::string padding(widths[column] - cell.size(), ' ');
        line += column == 0 ? "" : "  ";
        line += column < left_columns_ ? cell + padding : padding + cell;
      }
      if (!after_[i].empty()) line += "  " + after_[i];
      line.erase(line.find_last_not_of(' ') + 1);
      out << line << '\n';
    }
  }

 private:
  std::size_t left_columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::string> after_;
};

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += std::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// "580.1" of "NVIDIA: 580.1": WebGPU puts the driver's name in front, other programs do not.
std::string_view driver_version(std::string_view driver) {
  const std::size_t colon = driver.find(": ");
  return colon == std::string_view::npos ? driver : driver.substr(colon + 2);
}

std::string json_rate(const Rate& rate) {
  return std::format(R"({{"bytes": {}, "median_ms": {:.7f}, "gb_per_s": {:.3f}}})", rate.bytes, rate.timing.ms.median,
                     rate.gb_per_second());
}

std::string json_result(const Measurement& row, std::string_view method, const Timing& timing) {
  std::string text = std::format(
      R"(  {{"primitive": {}, "operator": {}, "type": {}, "step": {}, "items": {}, "method": "{}", )"
      R"("samples": {}, "median_ms": {:.7f}, "min_ms": {:.7f}, "max_ms": {:.7f}, "bytes_moved": {}, )"
      R"("gb_per_s": {:.3f}, "correct": {}, "repeats": {}, "clock_was_low": {})",
      json_string(row.primitive), json_string(row.operation), json_string(row.type), json_string(row.step),
      row.item_count, method, timing.ms.count, timing.ms.median, timing.ms.min, timing.ms.max, row.bytes_moved,
      gb_per_s(row.bytes_moved, timing.ms.median), row.correct, timing.repeats, timing.clock_was_low);
  if (row.has_plan) {
    text +=
        std::format(R"(, "passes": {}, "scratch_bytes": {}, "create_ms": {}, "record_us": {:.3f}, "plan_bytes": {})",
                    row.pass_count, row.scratch_bytes, row.create_ms ? std::format("{:.3f}", *row.create_ms) : "null",
                    row.record_us, row.plan_bytes);
  }
  if (row.flops != 0) text += std::format(", \"flops\": {}", row.flops);
  return text + "}";
}

}  // namespace

std::string format_items(std::uint64_t item_count) {
  if (item_count >= 1024 && std::has_single_bit(item_count)) return std::format("2^{}", std::bit_width(item_count) - 1);
  return std::to_string(item_count);
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kib = 1024;
  if (bytes < 10 * kib) return std::format("{} B", bytes);
  const auto size = static_cast<double>(bytes);
  if (bytes < kib * kib) return std::format("{:.1f} KiB", size / 1024);
  if (bytes < kib * kib * kib) return std::format("{:.1f} MiB", size / 1048576);
  return std::format("{:.1f} GiB", size / 1073741824);
}

void print_header(std::ostream& out, const Report& report) {
  out << "adapter  " << report.device << ", " << report.backend << '\n';
  if (report.is_cpu) out << "         software on the CPU: these times say nothing about GPUs\n";
  out << "driver   " << report.driver << '\n';
  out << std::format("date     {}, upsweep {}\n", report.date, report.version);
  out << std::format("times    {}, median of {} samples\n", report.clock, report.samples);
  out << std::format("memory   copy {} GB/s (read and written, {}), read {} GB/s ({})\n",
                     format_rate(report.copy.gb_per_second()), format_bytes(report.copy.bytes),
                     format_rate(report.read.gb_per_second()), format_bytes(report.read.bytes));
}

void print_ladder_columns(std::ostream& out) {
  out << "columns  GB/s: the bytes that any implementation must move, in the time of the step\n"
         "         of copy: what share of the copy rate that is\n"
         "         bytes/item: what the step's kernels read and write\n"
         "         against CPU: the time of the loop on the CPU over that of the step; above 1 is faster\n";
}

void print_size_columns(std::ostream& out) {
  out << "columns  call: one recording in a pass of its own; min..max: of the samples\n"
         "         amortised: one of many recordings in a pass\n"
         "         GB/s: the bytes that any implementation must move, in the amortised time\n"
         "         of copy, of read: what share of the memory's rates that is\n";
}

void print_ladder(std::ostream& out, const Report& report, const std::vector<Measurement>& rows) {
  if (rows.empty()) return;
  const Measurement& first = rows.front();
  out << std::format("\nladder of {}: {} of {} {} items ({})\n\n", first.primitive, first.operation,
                     format_items(first.item_count), first.type,
                     first.detail.empty() ? format_bytes(first.item_count * first.item_bytes) : first.detail);
  const double cpu_ms = first.step == "cpu" ? first.call_ms() : 0;
  // What a step moves says why the copy rate is out of its reach: "of copy" counts only what has to be moved.
  const bool has_flops = std::ranges::any_of(rows, [](const Measurement& row) { return row.flops != 0; });
  std::vector<std::string> header{"step", "time ms", "GB/s", "of copy", "bytes/item", "against CPU"};
  if (has_flops) header.insert(header.begin() + 2, "GFLOP/s");
  Table table(std::move(header), 1);
  for (const Measurement& row : rows) {
    const double ms = row.call_ms();
    const double rate = gb_per_s(row.bytes_moved, ms);
    std::vector<std::string> cells{
        row.title,
        format_ms(ms),
        format_rate(rate),
        format_share(rate, report.copy.gb_per_second()),
        row.has_plan ? format_rate(static_cast<double>(row.plan_bytes) / static_cast<double>(row.item_count))
                     : std::string(absent),
        ms > 0 ? format_factor(cpu_ms / ms) : std::string(absent)};
    // As many a nanosecond, as of bytes.
    if (has_flops) cells.insert(cells.begin() + 2, format_rate(gb_per_s(row.flops, ms)));
    table.add(std::move(cells), remark(row));
  }
  table.print(out);
}

void print_sizes(std::ostream& out, const Report& report) {
  if (report.measurements.empty()) return;
  out << '\n';
  const bool has_flops =
      std::ranges::any_of(report.measurements, [](const Measurement& row) { return row.flops != 0; });
  std::vector<std::string> header{"primitive", "type", "items",   "call ms", "min..max",
                                  "amortised", "GB/s", "of copy", "of read"};
  if (has_flops) header.emplace_back("GFLOP/s");
  Table table(std::move(header), 2);
  for (const Measurement& row : report.measurements) {
    // Rates of the time that holds no launch gaps.
    const double ms = row.amortised ? row.amortised->ms.median : row.call_ms();
    const double rate = gb_per_s(row.bytes_moved, ms);
    std::vector<std::string> cells{name_of(row),
                                   row.type,
                                   format_items(row.item_count),
                                   format_ms(row.call_ms()),
                                   row.call
                                       ? std::format("{}..{}", format_ms(row.call->ms.min), format_ms(row.call->ms.max))
                                       : std::string(absent),
                                   row.amortised ? format_ms(row.amortised->ms.median) : std::string(absent),
                                   format_rate(rate),
                                   format_share(rate, report.copy.gb_per_second()),
                                   format_share(rate, report.read.gb_per_second())};
    if (has_flops) cells.push_back(format_rate(gb_per_s(row.flops, ms)));
    table.add(std::move(cells), remark(row));
  }
  table.print(out);
}

void print_pipelines(std::ostream& out, const Report& report) {
  struct Line {
    const Measurement* largest = nullptr;
    std::optional<double> create_ms;
  };
  std::vector<Line> lines;
  for (const Measurement& row : report.measurements) {
    if (!row.has_plan) continue;
    auto line = std::ranges::find_if(lines, [&](const Line& l) {
      return l.largest->primitive == row.primitive && l.largest->operation == row.operation &&
             l.largest->type == row.type && l.largest->step == row.step;
    });
    if (line == lines.end()) line = lines.insert(line, Line{&row, std::nullopt});
    if (row.item_count >= line->largest->item_count) line->largest = &row;
    if (row.create_ms) line->create_ms = line->create_ms.value_or(0) + *row.create_ms;
  }
  if (lines.empty()) return;
  out << '\n';
  Table table({"step", "type", "items", "passes", "scratch", "create pipelines ms", "record once us"}, 2);
  for (const Line& line : lines) {
    const Measurement& row = *line.largest;
    table.add({name_of(row), row.type, format_items(row.item_count), std::to_string(row.pass_count),
               format_bytes(row.scratch_bytes),
               line.create_ms ? std::format("{:.1f}", *line.create_ms) : std::string("made before"),
               row.record_us > 0 ? std::format("{:.2f}", row.record_us) : std::string(absent)});
  }
  table.print(out);
}

std::string to_json(const Report& report) {
  std::string text = "{\"schema\": \"upsweep-bench-1\",\n \"program\": \"upsweep\",\n";
  text += std::format(" \"version\": {},\n", json_string(report.version));
  text += std::format(" \"device\": {{\"name\": {}, \"driver\": {}, \"backend\": {}}},\n", json_string(report.device),
                      json_string(driver_version(report.driver)), json_string(report.backend));
  text += std::format(" \"date\": {},\n \"clock\": {},\n", json_string(report.date), json_string(report.clock));
  text += std::format(" \"copy\": {},\n \"read\": {},\n", json_rate(report.copy), json_rate(report.read));
  text += " \"results\": [";
  std::string_view separator = "\n";
  for (const Measurement& row : report.measurements) {
    for (const Method method : {Method::call, Method::amortised}) {
      const auto& timing = method == Method::call ? row.call : row.amortised;
      if (!timing || timing->ms.count == 0) continue;
      text += separator;
      text += json_result(row, to_string(method), *timing);
      separator = ",\n";
    }
  }
  return text + "\n ]}\n";
}

}  // namespace upsweep::bench
