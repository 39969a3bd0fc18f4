// libFuzzer entry for the reader and the writer. Clang builds with a sanitizer (presets asan and ubsan) run it for a
// minute in CTest; by hand longer:
//   build/asan/tools/matrix_market_fuzz -max_total_time=600 NEW_INPUTS tools/matrix_market/corpus
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <format>
#include <string>
#include <string_view>
#include <vector>

#include "matrix_market.h"

namespace {

using upsweep::matrix_market::Format;
using upsweep::matrix_market::Matrix;
using upsweep::matrix_market::MatrixView;
using upsweep::matrix_market::Result;
using upsweep::matrix_market::Symmetry;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_same_values(const std::vector<double>& a, const std::vector<double>& b) {
  require(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    // Only the payload of a NaN may differ.
    require(std::bit_cast<std::uint64_t>(a[i]) == std::bit_cast<std::uint64_t>(b[i]) ||
            (std::isnan(a[i]) && std::isnan(b[i]) && std::signbit(a[i]) == std::signbit(b[i])));
  }
}

void require_same(const Matrix& a, const Matrix& b) {
  require(a.row_count == b.row_count && a.column_count == b.column_count);
  require(a.format == b.format && a.field == b.field);
  require(a.rows == b.rows && a.columns == b.columns);
  require_same_values(a.values, b.values);
}

void require_well_formed(const Matrix& matrix) {
  require(matrix.rows.size() == matrix.columns.size());
  if (matrix.format == Format::array) {
    require(matrix.rows.empty() && matrix.values.size() == matrix.row_count * matrix.column_count);
    return;
  }
  require(matrix.values.size() == (matrix.field == upsweep::matrix_market::Field::pattern ? 0 : matrix.rows.size()));
  for (std::size_t k = 0; k < matrix.rows.size(); ++k) {
    require(matrix.rows[k] < matrix.row_count && matrix.columns[k] < matrix.column_count);
  }
}

// What was read, written as general and read again.
Matrix rewritten(const Matrix& matrix) {
  static const int file = memfd_create("fuzz", MFD_CLOEXEC);
  static const std::string path = std::format("/proc/self/fd/{}", file);
  require(file >= 0 && ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0);
  const MatrixView view{.row_count = matrix.row_count,
                        .column_count = matrix.column_count,
                        .format = matrix.format,
                        .field = matrix.field,
                        .rows = matrix.rows,
                        .columns = matrix.columns,
                        .values = matrix.values};
  require(upsweep::matrix_market::write(path, view).has_value());
  Result<Matrix> again = upsweep::matrix_market::read(path, {.thread_count = 1});
  require(again.has_value());
  return std::move(*again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = upsweep::matrix_market::parse(text, "fuzz", {.thread_count = 1});
  // Threads are slow to start under a sanitizer: not for every input.
  const auto pieces =
      upsweep::matrix_market::parse(text, "fuzz", {.thread_count = size % 16 == 0 ? 2U : 1U, .chunk_bytes = size % 11});
  require(whole.has_value() == pieces.has_value());
  if (!whole) {
    require(whole.error() == pieces.error() && whole.error().find('\n') == std::string::npos);
    require(whole.error().starts_with("fuzz:"));
    return 0;
  }
  require_well_formed(*whole);
  require_same(*whole, *pieces);
  const Matrix again = rewritten(*whole);
  require(again.symmetry == Symmetry::general);
  if (whole->field != upsweep::matrix_market::Field::integer) {
    require_same(*whole, again);
  } else {
    require(whole->rows == again.rows && whole->columns == again.columns && whole->values == again.values);
  }
  return 0;
}
