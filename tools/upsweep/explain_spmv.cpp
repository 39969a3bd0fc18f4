// SPDX-License-Identifier: Apache-2.0
// upsweep explain spmv: the plan of a product, and of a matrix in a file what decided about its format.
#include <algorithm>
#include <array>
#include <bit>
#include <format>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "benchmarking/product_speed.h"
#include "explain.h"
#include "matrix_files.h"
#include "sparse_options.h"
#include "upsweep/spmv.h"

namespace upsweep::cli {
namespace {

struct ExplainSpmvOptions : ExplainOptions {
  SparseOptions matrix;
  std::string file;
  std::string rows;
  std::string columns;
  std::string entries;
  std::string longest_row;
  std::uint32_t vectors = 1;
  float alpha = 1;
  float beta = 0;
  std::string path = "automatic";
  bool scalars = false;
};

constexpr std::uint32_t slice_rows = 32;
constexpr std::uint32_t window_rows = 4096;

std::uint64_t div_ceil(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

std::uint32_t slots_of_slices(const std::vector<std::uint32_t>& lengths) {
  std::uint32_t slots = 0;
  for (std::size_t first = 0; first < lengths.size(); first += slice_rows) {
    slots +=
        std::ranges::max(std::span(lengths).subspan(first, std::min<std::size_t>(slice_rows, lengths.size() - first)));
  }
  return slots;
}

CsrStatistics statistics_on_host(const host::CsrMatrix& csr, const SparseMatrixOptions& wanted) {
  CsrStatistics found{.slice_rows = slice_rows, .window_rows = window_rows};
  std::vector<std::uint32_t> lengths;
  for (std::size_t row = 0; row < csr.row_count; ++row) {
    const std::uint32_t length = csr.row_offsets[row + 1] - csr.row_offsets[row];
    lengths.push_back(length);
    const auto bin = length == 0 ? 0u : 1u + static_cast<std::uint32_t>(std::bit_width(length - 1));
    ++found.rows_by_length[bin];
    found.entries_by_length[bin] += length;
    found.longest_row = std::max(found.longest_row, length);
  }
  found.slice_slots = slots_of_slices(lengths);
  for (std::size_t first = 0; first < lengths.size(); first += window_rows) {
    std::ranges::sort(std::span(lengths).subspan(first, std::min<std::size_t>(window_rows, lengths.size() - first)),
                      std::greater<>());
  }
  found.reordered_slice_slots = slots_of_slices(lengths);
  for (std::size_t i = 0; i < CsrStatistics::block_size_list.size(); ++i) {
    const std::uint32_t size = CsrStatistics::block_size_list[i];
    // Only those that may be chosen.
    if (wanted.format && wanted.format != SparseFormat::block_ell) continue;
    if (wanted.block_size != 0 && wanted.block_size != size) continue;
    found.block_sizes |= 1u << size;
    std::vector<std::uint32_t> blocks;
    for (std::size_t first = 0; first < csr.row_count; first += size) {
      blocks.clear();
      const std::size_t end = std::min<std::size_t>(first + size, csr.row_count);
      for (std::uint32_t e = csr.row_offsets[first]; e < csr.row_offsets[end]; ++e)
        blocks.push_back(csr.columns[e] / size);
      std::ranges::sort(blocks);
      const auto width = static_cast<std::uint32_t>(std::ranges::unique(blocks).begin() - blocks.begin());
      found.block_widths[i] = std::max(found.block_widths[i], width);
      found.block_counts[i] += width;
    }
  }
  return found;
}

std::string lengths_text(const CsrStatistics& statistics) {
  std::string text;
  for (std::size_t bin = 0; bin < statistics.rows_by_length.size(); ++bin) {
    if (statistics.rows_by_length[bin] == 0) continue;
    const std::uint64_t last = bin == 0 ? 0 : std::uint64_t{1} << (bin - 1);
    const std::uint64_t first = bin < 3 ? last : last / 2 + 1;
    text += std::format("{}{} of {}", text.empty() ? "" : ", ", statistics.rows_by_length[bin],
                        first == last ? std::to_string(last) : std::format("{} to {}", first, last));
  }
  return text.empty() ? "none" : text;
}

std::string blocks_text(const CsrStatistics& statistics, bool are_all_wanted) {
  std::string text;
  bool are_all_counted = true;
  for (std::size_t i = 0; i < CsrStatistics::block_size_list.size(); ++i) {
    const std::uint32_t size = CsrStatistics::block_size_list[i];
    if ((statistics.block_sizes >> size & 1) == 0) {
      are_all_counted = false;
      continue;
    }
    text += std::format("{0}{1} of {2} x {2} (at most {3} side by side)", text.empty() ? "" : ", ",
                        statistics.block_counts[i], size, statistics.block_widths[i]);
  }
  // A device counts no blocks that surely take too much.
  if (are_all_wanted && !are_all_counted) {
    return text.empty() ? "any would take more bytes than csr"
                        : text + "; of other sizes would take more bytes than csr or these";
  }
  return text.empty() ? "not counted" : text;
}

void print_analysis(const CsrStatistics& statistics, const SparseShape& shape, std::string_view reason,
                    const SparseMatrixOptions& wanted) {
  std::cout << std::format("rows by entries: {}\n", lengths_text(statistics));
  std::cout << std::format("places in slices of {} rows: {}, {} with rows by length within {}\n", statistics.slice_rows,
                           std::uint64_t{statistics.slice_slots} * statistics.slice_rows,
                           std::uint64_t{statistics.reordered_slice_slots} * statistics.slice_rows,
                           statistics.window_rows);
  std::cout << std::format("blocks: {}\n", blocks_text(statistics, !wanted.format));
  std::cout << in_option_names(std::format("format {}: {}\n", to_string(shape.format), reason));
}

// The second time no kernel has to be compiled, as in a program that runs on.
Outcome print_cost(Context& context, const matrix_market::Matrix& matrix, const std::string& path,
                   const SparseMatrixOptions& options, const SparseMatrix& first) {
  constexpr std::uint32_t samples = 5;
  SparseAnalysis again;
  {
    const auto made = to_device(context, matrix, path, options);
    if (!made) return std::unexpected(made.error());
    again = made->analysis();
  }
  const auto cost_of = [](const SparseAnalysis& analysis) {
    return std::format("{:.3g} ms to analyse, {:.3g} ms to sort and convert", analysis.statistics_seconds * 1e3,
                       analysis.conversion_seconds * 1e3);
  };
  std::cout << std::format("cost on the host's clock: {}; the first time, with kernels to compile: {}\n",
                           cost_of(again), cost_of(first.analysis()));
  if (first.shape().entry_count == 0 && first.shape().column_items() == 0) return {};
  const auto speed = bench::measure_product(context, first, samples);
  if (!speed) return failed_in(path, speed.error());
  if (speed->seconds > 0) {
    std::cout << std::format("a product: {:.4g} us; the analysis takes as long as {:.3g} of them\n",
                             speed->seconds * 1e6, again.statistics_seconds / speed->seconds);
  }
  return {};
}

// Of rows of the same length, side by side on a diagonal: what shows a plan, and what --dump multiplies.
matrix_market::Matrix even_matrix(std::uint64_t rows, std::uint64_t columns, std::uint64_t entries) {
  matrix_market::Matrix matrix{.row_count = rows, .column_count = columns};
  for (std::uint64_t e = 0; e < entries; ++e) {
    const std::uint64_t row = e * rows / entries;
    const std::uint64_t first_of_row = div_ceil(row * entries, rows);
    matrix.rows.push_back(static_cast<std::uint32_t>(row));
    matrix.columns.push_back(static_cast<std::uint32_t>((row + e - first_of_row) % columns));
    matrix.values.push_back(static_cast<double>(e % 9 + 1));
  }
  return matrix;
}

Expected<std::uint64_t> sized(std::string_view option, const std::string& text) {
  constexpr std::uint64_t most = std::uint64_t{1} << 31;
  const auto count = parse_count(text);
  if (count && *count > most) return refuse(std::format("{} {}: at most {}", option, text, most));
  return count;
}

// How a matrix of such rows lies.
Expected<SparseShape> shape_of_sizes(const ExplainSpmvOptions& options, const SparseMatrixOptions& wanted) {
  if (options.rows.empty() || options.entries.empty())
    return refuse("explain spmv needs a file, or --rows and --entries");
  if (!options.longest_row.empty() && wanted.format.value_or(SparseFormat::csr) != SparseFormat::csr) {
    return refuse("--longest-row goes with --format csr");
  }
  const auto rows = sized("--rows", options.rows);
  if (!rows) return std::unexpected(rows.error());
  const auto columns = options.columns.empty() ? rows : sized("--columns", options.columns);
  if (!columns) return std::unexpected(columns.error());
  const auto entries = sized("--entries", options.entries);
  if (!entries) return std::unexpected(entries.error());
  if (*entries != 0 && (*rows == 0 || *columns == 0 || div_ceil(*entries, *rows) > *columns)) {
    return refuse(std::format("--entries {}: a matrix of {} x {} has no place for them", *entries, *rows, *columns));
  }
  SparseShape shape{.format = wanted.format.value_or(SparseFormat::csr),
                    .values = wanted.values,
                    .row_count = static_cast<std::uint32_t>(*rows),
                    .column_count = static_cast<std::uint32_t>(*columns),
                    .entry_count = static_cast<std::uint32_t>(*entries)};
  const std::uint64_t length = *rows == 0 ? 0 : div_ceil(*entries, *rows);
  switch (shape.format) {
    case SparseFormat::csr:
      if (!options.longest_row.empty()) {
        const auto longest = sized("--longest-row", options.longest_row);
        if (!longest) return std::unexpected(longest.error());
        if (*longest < length || *longest > *columns) {
          return refuse(std::format("--longest-row {}: it has from {} entries, the mean, to {}, the columns", *longest,
                                    length, *columns));
        }
        shape.longest_row = static_cast<std::uint32_t>(*longest);
      }
      break;
    case SparseFormat::coo: break;
    case SparseFormat::ell:
    case SparseFormat::hybrid: shape.width = static_cast<std::uint32_t>(length); break;
    case SparseFormat::sliced_ell:
      shape.slice_rows = slice_rows;
      shape.entry_count = static_cast<std::uint32_t>(std::min<std::uint64_t>(
          std::uint64_t{shape.group_count()} * slice_rows * length, std::numeric_limits<std::uint32_t>::max()));
      break;
    case SparseFormat::block_ell:
      shape.block_size = wanted.block_size != 0 ? wanted.block_size : 2;
      shape.width = static_cast<std::uint32_t>(div_ceil(length, shape.block_size));
      break;
  }
  return shape;
}

struct Explained {
  SparseShape shape;
  std::optional<SparseMatrix> on_device;
};

Expected<Explained> look_at(const ExplainSpmvOptions& options, const ExplainDevice& device,
                            const matrix_market::Matrix& matrix, const SparseMatrixOptions& wanted) {
  if (const auto ok = check_sizes(matrix, options.file, device.traits); !ok) return std::unexpected(ok.error());
  if (device.context != nullptr) {
    auto made = to_device(*device.context, matrix, options.file, wanted);
    if (!made) return std::unexpected(made.error());
    std::cout << describe(options.file, matrix) << '\n';
    print_analysis(made->analysis().statistics, made->shape(), made->analysis().reason, wanted);
    // Contexts for --dump keep copies of all scratch, which takes its time.
    if (!options.dump) {
      if (const auto ok = print_cost(*device.context, matrix, options.file, wanted, *made); !ok) {
        return std::unexpected(ok.error());
      }
    }
    return Explained{made->shape(), std::move(*made)};
  }
  host::CsrMatrix csr = ascending_rows(matrix);
  if (!csr.values.empty()) sum_duplicates(csr);
  const SparseShape rows{.values = csr.values.empty() ? SparseValues::ones : wanted.values,
                         .row_count = csr.row_count,
                         .column_count = csr.column_count,
                         .entry_count = static_cast<std::uint32_t>(csr.columns.size())};
  const CsrStatistics statistics = statistics_on_host(csr, wanted);
  const auto suggestion = wanted.format ? shape_in_format(rows, statistics, *wanted.format)
                                        : Result<FormatSuggestion>(suggest_format(rows, statistics, device.traits));
  if (!suggestion) return failed_in(options.file, suggestion.error());
  std::cout << describe(options.file, matrix) << '\n';
  print_analysis(statistics, suggestion->shape, suggestion->reason, wanted);
  std::cout << "cost: not known without a device\n";
  return Explained{suggestion->shape, std::nullopt};
}

Expected<std::vector<DumpArgument>> dump_arguments(Context& context, const Plan& plan, const SparseMatrix& matrix,
                                                   const ExplainSpmvOptions& options) {
  const SparseBuffers& buffers = matrix.buffers();
  const ElementType value = matrix.shape().values == SparseValues::f16 ? ElementType::f16() : ElementType::f32();
  const std::pair<const char*, const BufferView*> views[] = {{"row_offsets", &buffers.row_offsets},
                                                             {"rows", &buffers.rows},
                                                             {"slice_offsets", &buffers.slice_offsets},
                                                             {"row_order", &buffers.row_order},
                                                             {"columns", &buffers.columns},
                                                             {"values", &buffers.values},
                                                             {"rest_rows", &buffers.rest_rows},
                                                             {"rest_offsets", &buffers.rest_offsets},
                                                             {"rest_columns", &buffers.rest_columns},
                                                             {"rest_values", &buffers.rest_values}};
  std::vector<DumpArgument> arguments;
  for (const auto& [name, view] : views) {
    const ArgumentSlot* slot = plan.find_argument(name);
    if (slot == nullptr) continue;
    auto bytes = context.read(*view, slot->size_bytes);
    if (!bytes) return failed(bytes.error());
    const bool is_value = std::string_view(name).ends_with("values");
    arguments.push_back({name, is_value ? value : ElementType::u32(), std::move(*bytes)});
  }
  const std::uint64_t x_count = std::uint64_t{matrix.shape().column_count} * options.vectors;
  const std::uint64_t y_count = std::uint64_t{matrix.shape().row_count} * options.vectors;
  arguments.push_back({"x", ElementType::f32(), sample_items(ElementType::f32(), x_count)});
  // Else y is not read.
  const bool reads_y = options.beta != 0 || options.scalars;
  arguments.push_back(
      {"y", ElementType::f32(), reads_y ? sample_items(ElementType::f32(), y_count) : std::vector<std::byte>()});
  const std::array scalars{options.alpha, options.beta};
  const auto scalar_bytes = std::as_bytes(std::span(scalars));
  arguments.push_back({"scalars", ElementType::f32(), {scalar_bytes.begin(), scalar_bytes.end()}});
  return arguments;
}

std::unexpected<Failure> product_plan_failed(Error error) {
  error.message = in_option_names(std::move(error.message));
  return failed(error);
}

Outcome run_explain_spmv(Program& program, const ExplainSpmvOptions& options) {
  const auto wanted = read_sparse_options(options.matrix);
  if (!wanted) return std::unexpected(wanted.error());
  std::optional<matrix_market::Matrix> matrix;
  SparseShape shape;
  if (!options.file.empty()) {
    auto read = read_matrix(options.file);
    if (!read) return std::unexpected(read.error());
    matrix = std::move(*read);
  } else {
    const auto sizes = shape_of_sizes(options, *wanted);
    if (!sizes) return std::unexpected(sizes.error());
    shape = *sizes;
  }
  const std::uint64_t most = matrix ? std::max({matrix->row_count, matrix->column_count, matrix->rows.size()})
                                    : std::max({shape.row_count, shape.column_count, shape.entry_count});
  const auto device = open_explained(program, options, most);
  if (!device) return std::unexpected(device.error());

  std::optional<SparseMatrix> on_device;
  if (matrix) {
    auto explained = look_at(options, *device, *matrix, *wanted);
    if (!explained) return std::unexpected(explained.error());
    shape = explained->shape;
    on_device = std::move(explained->on_device);
  } else if (options.dump) {
    SparseMatrixOptions as_planned = *wanted;
    as_planned.format = shape.format;
    auto made =
        to_device(*device->context, even_matrix(shape.row_count, shape.column_count, *parse_count(options.entries)),
                  "made-up entries", as_planned);
    if (!made) return std::unexpected(made.error());
    // Without a look at the rows, nothing is known of the longest one.
    const std::uint32_t known_longest = shape.longest_row;
    shape = made->shape();
    if (shape.format == SparseFormat::csr) shape.longest_row = known_longest;
    on_device = std::move(*made);
  }

  SpmvShape product{.matrix = shape,
                    .alpha = options.alpha,
                    .beta = options.beta,
                    .scalars_on_device = options.scalars,
                    .vector_count = options.vectors};
  SpmvTuning tuning = select_spmv_tuning(product, device->traits);
  if (options.path == "rows") tuning.path = SpmvPath::rows;
  if (options.path == "merge") tuning.path = SpmvPath::merge;
  if (tuning.path == SpmvPath::merge && shape.format != SparseFormat::csr && shape.format != SparseFormat::coo) {
    return refuse(std::format("--path merge is for csr and coo, not for {}", format_option(shape.format)));
  }
  // What SparseMatrix prepares of a matrix that has been looked at; --dump shows the product by itself.
  std::string prepared;
  if (matrix && !options.dump && shape.format == SparseFormat::csr && options.vectors == 1) {
    const auto tiles = plan_spmv_tiles(product, device->traits, tuning);
    if (!tiles) return product_plan_failed(tiles.error());
    product.has_tiles = tiles->find_argument("tiles") != nullptr;
    if (product.has_tiles) prepared = "once, for many products:\n" + to_string(*tiles) + "and for each product:\n";
  }
  const auto plan = plan_spmv(product, device->traits, tuning);
  if (!plan) return product_plan_failed(plan.error());
  std::cout << std::format("strategy: {}\n{}", to_string(tuning), prepared);
  if (!options.dump) return explain(options, *device, *plan, {});
  const auto arguments = dump_arguments(*device->context, *plan, *on_device, options);
  if (!arguments) return std::unexpected(arguments.error());
  // What made the matrix left scratch of its own.
  if (const auto snapshots = device->context->debug_snapshots(); !snapshots) return failed(snapshots.error());
  return explain(options, *device, *plan, *arguments);
}

}  // namespace

void add_explain_spmv(Program& program, CLI::App& explain) {
  auto options = std::make_shared<ExplainSpmvOptions>();
  CLI::App& command =
      program.add(explain, "spmv", "Explain a sparse matrix-vector product",
                  "  upsweep explain spmv A.mtx\n"
                  "  upsweep explain spmv A.mtx --format sell --beta 1 --wgsl\n"
                  "  upsweep explain spmv --rows 1e6 --entries 5e6 --traits minimum\n"
                  "  upsweep explain spmv --rows 1e6 --entries 5e6 --longest-row 9\n"
                  "  upsweep explain spmv --rows 6 --entries 12 --format ell --dump\n"
                  "Of a file: what the analysis found, which format it speaks for, what it cost, and\n"
                  "the plan of a product. Of sizes alone: the plan of a product without analysis; rows\n"
                  "are taken to be of the same length where the format must know, and auto is csr.",
                  options, run_explain_spmv);
  auto* file = program.reads(command.add_option("matrix", options->file, "Matrix Market file; - reads standard input"));
  file->type_name("A.mtx");
  const auto add_size = [&](const char* name, std::string& text, const char* description) {
    command.add_option(name, text, description)->transform(count_text())->excludes(file)->type_name("N");
  };
  add_size("--rows", options->rows, "Instead of a file: rows, as 1000000, 1e6 or 2^20");
  add_size("--columns", options->columns, "Columns; default: as many as rows");
  add_size("--entries", options->entries, "Entries in all");
  add_size("--longest-row", options->longest_row, "csr: entries of the longest row; default: unknown");
  add_sparse_options(command, options->matrix);
  command.add_option("--vectors", options->vectors, "Right-hand sides")
      ->capture_default_str()
      ->check(CLI::Range(1u, 16u))
      ->type_name("N");
  command.add_option("--alpha", options->alpha, "Of y = alpha A x + beta y")->capture_default_str();
  command.add_option("--beta", options->beta, "0: y is not read")->capture_default_str();
  command.add_flag("--scalars", options->scalars, "alpha and beta are read from a buffer");
  command.add_option("--path", options->path, "automatic, rows or merge")
      ->capture_default_str()
      ->check(CLI::IsMember({"automatic", "rows", "merge"}));
  add_view_options(command, *options);
}

}  // namespace upsweep::cli
