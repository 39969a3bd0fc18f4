#include "matrix_market.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <format>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using upsweep::matrix_market::Field;
using upsweep::matrix_market::Format;
using upsweep::matrix_market::Matrix;
using upsweep::matrix_market::MatrixView;
using upsweep::matrix_market::parse;
using upsweep::matrix_market::ReadOptions;
using upsweep::matrix_market::Result;
using upsweep::matrix_market::Symmetry;
using Indices = std::vector<std::uint32_t>;
using Values = std::vector<double>;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

constexpr double infinity = std::numeric_limits<double>::infinity();

Result<Matrix> parse_text(std::string_view text, const ReadOptions& options = {}) {
  return parse(text, "a.mtx", options);
}

Matrix matrix_of(std::string_view text, const ReadOptions& options = {}) {
  Result<Matrix> matrix = parse_text(text, options);
  EXPECT_TRUE(matrix) << matrix.error();
  return matrix ? std::move(*matrix) : Matrix{};
}

std::string error_of(std::string_view text, const ReadOptions& options = {}) {
  const Result<Matrix> matrix = parse_text(text, options);
  return matrix ? "no error" : matrix.error();
}

// The text of a coordinate file.
std::string coordinate(std::string_view kind, std::string_view rest) {
  return std::format("%%MatrixMarket matrix coordinate {}\n{}", kind, rest);
}

// A coordinate file of one real value, whose text is given.
double value_of(std::string_view text) {
  const Matrix matrix = matrix_of(coordinate("real general", std::format("1 1 1\n1 1 {}\n", text)));
  return matrix.values.size() == 1 ? matrix.values[0] : 12345;
}

std::string value_error(std::string_view text, std::string_view field = "real") {
  return error_of(coordinate(std::format("{} general", field), std::format("1 1 1\n1 1 {}\n", text)));
}

// A x, by definition.
Values product(const Matrix& matrix, const Values& x) {
  Values y(matrix.row_count, 0.0);
  for (std::size_t k = 0; k < matrix.rows.size(); ++k) {
    y[matrix.rows[k]] += (matrix.values.empty() ? 1 : matrix.values[k]) * x[matrix.columns[k]];
  }
  return y;
}

std::vector<std::uint64_t> bits_of(const Values& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

void expect_same(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.row_count, b.row_count);
  EXPECT_EQ(a.column_count, b.column_count);
  EXPECT_EQ(a.format, b.format);
  EXPECT_EQ(a.field, b.field);
  EXPECT_EQ(a.symmetry, b.symmetry);
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(bits_of(a.values), bits_of(b.values));
}

// ---- Coordinate files ----

TEST(MatrixMarketReader, ReadsARealGeneralFile) {
  const Matrix matrix = matrix_of(coordinate("real general", "3 4 3\n1 1 1.5\n3 4 -2e-3\n2 1 0\n"));
  EXPECT_EQ(matrix.row_count, 3U);
  EXPECT_EQ(matrix.column_count, 4U);
  EXPECT_EQ(matrix.format, Format::coordinate);
  EXPECT_EQ(matrix.field, Field::real);
  EXPECT_EQ(matrix.symmetry, Symmetry::general);
  EXPECT_EQ(matrix.rows, (Indices{0, 2, 1}));
  EXPECT_EQ(matrix.columns, (Indices{0, 3, 0}));
  EXPECT_EQ(matrix.values, (Values{1.5, -2e-3, 0}));
}

TEST(MatrixMarketReader, ReadsIntegersAndPatterns) {
  const Matrix integers =
      matrix_of(coordinate("integer general", "2 2 4\n1 1 -7\n2 2 +8\n1 2 9007199254740992\n2 1 -9007199254740992\n"));
  EXPECT_EQ(integers.field, Field::integer);
  EXPECT_EQ(integers.values, (Values{-7, 8, 9007199254740992.0, -9007199254740992.0}));
  const Matrix pattern = matrix_of(coordinate("pattern general", "2 3 2\n2 3\n1 1\n"));
  EXPECT_EQ(pattern.field, Field::pattern);
  EXPECT_EQ(pattern.rows, (Indices{1, 0}));
  EXPECT_EQ(pattern.columns, (Indices{2, 0}));
  EXPECT_TRUE(pattern.values.empty());
}

// C133
TEST(MatrixMarketReader, MirrorsASymmetricFileBehindItsEntriesAndLeavesTheDiagonal) {
  std::string rest = "4 4 10\n";
  for (int column = 1; column <= 4; ++column) {
    for (int row = column; row <= 4; ++row) rest += std::format("{} {} 1\n", row, column);
  }
  const std::string text = coordinate("real symmetric", rest);
  const Matrix matrix = matrix_of(text);
  EXPECT_EQ(matrix.symmetry, Symmetry::symmetric);
  EXPECT_EQ(matrix.rows, (Indices{0, 1, 2, 3, 1, 2, 3, 2, 3, 3, 0, 0, 0, 1, 1, 2}));
  EXPECT_EQ(matrix.columns, (Indices{0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 1, 2, 3, 2, 3, 3}));
  EXPECT_EQ(matrix.values, Values(16, 1.0));
  EXPECT_EQ(product(matrix, Values(4, 1.0)), (Values{4, 4, 4, 4}));
  const Matrix triangle = matrix_of(text, {.mirror = false});
  EXPECT_EQ(triangle.rows, (Indices{0, 1, 2, 3, 1, 2, 3, 2, 3, 3}));
  EXPECT_EQ(triangle.values, Values(10, 1.0));
}

// C135
TEST(MatrixMarketReader, MirrorsASkewSymmetricFileWithTheOtherSign) {
  const std::string entries = "2 1 1\n3 1 2\n3 2 3\n";
  const Matrix matrix = matrix_of(coordinate("real skew-symmetric", "3 3 3\n" + entries));
  EXPECT_EQ(matrix.values, (Values{1, 2, 3, -1, -2, -3}));
  EXPECT_EQ(product(matrix, {1, 1, 1}), (Values{-3, -2, 5}));
  EXPECT_EQ(error_of(coordinate("real skew-symmetric", "3 3 4\n" + entries + "2 2 1e-3\n")),
            "a.mtx:6: value 1e-3 is on the diagonal of a skew-symmetric matrix, which is 0");
  EXPECT_EQ(error_of(coordinate("integer skew-symmetric", "3 3 4\n2 2 -1\n" + entries)),
            "a.mtx:3: value -1 is on the diagonal of a skew-symmetric matrix, which is 0");
  EXPECT_NE(error_of(coordinate("real skew-symmetric", "1 1 1\n1 1 nan\n")), "no error");
  const Matrix zero = matrix_of(coordinate("real skew-symmetric", "3 3 2\n2 2 0.0\n3 1 2\n"));
  EXPECT_EQ(zero.rows, (Indices{1, 2, 0}));
  EXPECT_EQ(zero.values, (Values{0, 2, -2}));
}

TEST(MatrixMarketReader, MirrorsPatternsAndIntegers) {
  const Matrix pattern = matrix_of(coordinate("pattern symmetric", "3 3 2\n2 2\n3 1\n"));
  EXPECT_EQ(pattern.rows, (Indices{1, 2, 0}));
  EXPECT_EQ(pattern.columns, (Indices{1, 0, 2}));
  EXPECT_TRUE(pattern.values.empty());
  EXPECT_EQ(matrix_of(coordinate("integer symmetric", "3 3 1\n3 1 5\n")).values, (Values{5, 5}));
}

TEST(MatrixMarketReader, AcceptsEitherTriangleButNotBoth) {
  const Matrix upper = matrix_of(coordinate("real symmetric", "3 3 3\n1 2 5\n2 2 6\n1 3 7\n"));
  EXPECT_EQ(upper.rows, (Indices{0, 1, 0, 1, 2}));
  EXPECT_EQ(upper.columns, (Indices{1, 1, 2, 0, 0}));
  EXPECT_EQ(upper.values, (Values{5, 6, 7, 5, 7}));
  const std::string both = coordinate("real symmetric", "3 3 4\n1 1 5\n\n2 1 5\n3 1 5\n1 2 5\n");
  const std::string message =
      "a.mtx:7: this entry is above the diagonal, line 5 has one below it; a symmetric file holds one triangle";
  EXPECT_EQ(error_of(both), message);
  EXPECT_EQ(error_of(both, {.mirror = false, .chunk_bytes = 1}), message);
  EXPECT_EQ(error_of(coordinate("integer skew-symmetric", "3 3 2\n1 2 5\n2 1 5\n")),
            "a.mtx:4: this entry is below the diagonal, line 3 has one above it; a skew-symmetric file holds one "
            "triangle");
}

// C141, the reader's half: what duplicates mean is up to the conversion.
TEST(MatrixMarketReader, KeepsDuplicatesAndStoredZeros) {
  const Matrix matrix = matrix_of(coordinate("real general", "1 1 3\n1 1 1\n1 1 2\n1 1 0\n"));
  EXPECT_EQ(matrix.rows, (Indices{0, 0, 0}));
  EXPECT_EQ(matrix.columns, (Indices{0, 0, 0}));
  EXPECT_EQ(matrix.values, (Values{1, 2, 0}));
  EXPECT_EQ(product(matrix, {1}), Values{3});
}

// ---- Array files ----

TEST(MatrixMarketReader, ReadsAnArrayColumnByColumn) {
  const Matrix matrix = matrix_of("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6.5\n");
  EXPECT_EQ(matrix.format, Format::array);
  EXPECT_EQ(matrix.row_count, 2U);
  EXPECT_EQ(matrix.column_count, 3U);
  EXPECT_EQ(matrix.values, (Values{1, 2, 3, 4, 5, 6.5}));
  EXPECT_TRUE(matrix.rows.empty() && matrix.columns.empty());
  EXPECT_EQ(matrix_of("%%MatrixMarket matrix array integer general\n3 1\n1\n-2\n+3\n").values, (Values{1, -2, 3}));
}

TEST(MatrixMarketReader, GivesTheWholeOfASymmetricArray) {
  const Matrix symmetric = matrix_of("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n");
  EXPECT_EQ(symmetric.values, (Values{1, 2, 3, 2, 4, 5, 3, 5, 6}));
  const Matrix skew =
      matrix_of("%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n3\n", {.mirror = false});
  EXPECT_EQ(skew.values, (Values{0, 1, 2, -1, 0, 3, -2, -3, 0}));
  EXPECT_EQ(matrix_of("%%MatrixMarket matrix array real skew-symmetric\n1 1\n").values, Values{0});
}

TEST(MatrixMarketReader, AddsTheIndicesOfAnArray) {
  Matrix matrix = matrix_of("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n0\n5\n6\n");
  add_indices(matrix);
  EXPECT_EQ(matrix.rows, (Indices{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(matrix.columns, (Indices{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(product(matrix, {1, 10, 100}), (Values{531, 602}));
  for (const char* const sizes : {"0 0", "0 4294967295", "4294967295 0"}) {
    Matrix empty = matrix_of(std::format("%%MatrixMarket matrix array real general\n{}\n", sizes));
    add_indices(empty);
    EXPECT_TRUE(empty.rows.empty() && empty.values.empty());
  }
  Matrix sparse = matrix_of(coordinate("real general", "2 2 1\n2 1 5\n"));
  add_indices(sparse);
  EXPECT_EQ(sparse.rows, Indices{1});
}

// ---- Layout ----

// C137
TEST(MatrixMarketReader, AcceptsBlanksCommentsAndAnyCase) {
  const std::string text =
      " %%matrixmarket MATRIX Coordinate REAL General\n%\n\n  2 2   2 \n\n 1 1  1.5e0\n2 2 -.5\n\n";
  const Matrix matrix = matrix_of(text);
  EXPECT_EQ(matrix.rows, (Indices{0, 1}));
  EXPECT_EQ(product(matrix, {1, 1}), (Values{1.5, -0.5}));

  std::string windows;
  for (const char c : text) windows += c == '\n' ? "\r\n" : std::string(1, c);
  expect_same(matrix_of(windows), matrix);

  const std::string more =
      "%%MatrixMarket\tmatrix  coordinate real general  \n% a comment\n   % another\n%%\n\t\n2\t2\v2\f\n% here, too\n"
      "\t+1 \t+001 +1.5\n   \n\r\n%\n2 2 -5.e-1   \n  % the end";
  expect_same(matrix_of(more), matrix);
}

TEST(MatrixMarketReader, DoesNotNeedTheLastLineEnd) {
  EXPECT_EQ(matrix_of(coordinate("real general", "1 1 1\n1 1 2.5")).values, Values{2.5});
  EXPECT_EQ(matrix_of(coordinate("integer general", "1 1 1\n1 1 25")).values, Values{25});
  EXPECT_EQ(matrix_of(coordinate("pattern general", "1 12 1\n1 12")).columns, Indices{11});
  EXPECT_EQ(matrix_of(coordinate("pattern general", "1 12 1\n1 12 ")).columns, Indices{11});
  EXPECT_EQ(matrix_of(coordinate("real general", "3 4 0")).column_count, 4U);
}

// C139
TEST(MatrixMarketReader, ReadsMatricesWithoutEntries) {
  for (const char* const sizes : {"3 4 0", "0 0 0", "0 3 0", "3 0 0", "4294967295 4294967295 0"}) {
    for (const char* const kind : {"real general", "integer general", "pattern general"}) {
      const Matrix matrix = matrix_of(coordinate(kind, std::format("{}\n", sizes)));
      EXPECT_TRUE(matrix.rows.empty() && matrix.columns.empty() && matrix.values.empty());
    }
  }
  EXPECT_EQ(matrix_of(coordinate("real symmetric", "3 3 0\n% none\n")).row_count, 3U);
}

// ---- Numbers ----

TEST(MatrixMarketReader, ReadsEverySpellingOfAReal) {
  EXPECT_EQ(value_of("1"), 1);
  EXPECT_EQ(value_of("+.5"), 0.5);
  EXPECT_EQ(value_of("5."), 5);
  EXPECT_EQ(value_of("1E+2"), 100);
  EXPECT_EQ(value_of("1.5d3"), 1500);
  EXPECT_EQ(value_of("-1.5D-03"), -1.5e-3);
  EXPECT_EQ(value_of("+2D0"), 2);
  EXPECT_EQ(value_of("123456789012345678901234567890"), 123456789012345678901234567890.0);
  EXPECT_EQ(value_of("0.1"), 0.1);
  EXPECT_EQ(value_of("1.7976931348623157e308"), std::numeric_limits<double>::max());
  EXPECT_EQ(value_of("1.7976931348623157D+308"), std::numeric_limits<double>::max());
  EXPECT_EQ(value_of("4.9e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(value_of("1.23456789e-310"), 1.23456789e-310);
  // Halfway between two doubles: to the even one, and up with one digit more.
  EXPECT_EQ(value_of("9007199254740993"), 9007199254740992.0);
  EXPECT_EQ(value_of("9007199254740993.0000000000000000000000000000000000000001"), 9007199254740994.0);
  EXPECT_EQ(value_of("inf"), infinity);
  EXPECT_EQ(value_of("-Infinity"), -infinity);
  EXPECT_EQ(value_of("+INF"), infinity);
  EXPECT_TRUE(std::isnan(value_of("NaN")));
  EXPECT_TRUE(std::signbit(value_of("-0.0")));
}

TEST(MatrixMarketReader, RoundsWhatIsNearZeroToZeroAndRefusesWhatIsTooLarge) {
  const std::string zeros(400, '0');
  for (const std::string& tiny :
       {std::string("1e-400"), std::string("2.4e-324"), "0." + zeros + "1", "0." + zeros + "1e1", "." + zeros + "5D+3",
        std::string("1e-99999999999999999999999"), "1" + zeros + "e-800", "." + std::string(3000, '0') + "1"}) {
    EXPECT_EQ(value_of(tiny), 0) << tiny;
    EXPECT_FALSE(std::signbit(value_of("+" + tiny)));
    EXPECT_EQ(value_of("-" + tiny), 0) << tiny;
    EXPECT_TRUE(std::signbit(value_of("-" + tiny)));
  }
  for (const std::string& large :
       {std::string("1e400"), std::string("-1.8e308"), "1" + zeros, "1" + zeros + ".5e-10", "." + zeros + "1e800",
        std::string("1d309"), std::string("1e+99999999999999999999999")}) {
    const std::string error = value_error(large);
    EXPECT_TRUE(error.starts_with("a.mtx:3: value ") && error.ends_with(" is too large for a double")) << error;
  }
}

TEST(MatrixMarketReader, RefusesWhatIsNoNumber) {
  for (const char* const text : {"^",     "1e", "1e+",   "1.2.3", "--1", "+-1", "-+1", "++1",  "1,5", "0x10",
                                 "1e5d3", "d5", "1-100", "e5",    ".",   "-",   "+",   "infd", "1f",  "1_000"}) {
    EXPECT_EQ(value_error(text), std::format("a.mtx:3: value '{}' is no number", text));
  }
  for (const char* const text : {"1.0", "1e3", "x", "+-1", "-", "inf", "0x1"}) {
    EXPECT_EQ(value_error(text, "integer"), std::format("a.mtx:3: value '{}' is no integer", text));
  }
  for (const char* const text : {"9007199254740993", "-9007199254740993", "99999999999999999999999999"}) {
    EXPECT_EQ(value_error(text, "integer"),
              std::format("a.mtx:3: integer {} is beyond 2^53, a double would not hold it exactly", text));
  }
}

// ---- Faults in the entries ----

// C121
TEST(MatrixMarketReader, RefusesAnIndexOutsideTheMatrix) {
  const auto error = [](std::string_view indices) {
    return error_of(coordinate("real general", std::format("3 4 2\n1 2 7\n{} 5\n", indices)));
  };
  EXPECT_EQ(error_of(coordinate("real general", "3 3 2\n0 1 5\n1 2 7\n")), "a.mtx:3: row 0 is not from 1 to 3");
  EXPECT_EQ(error("4 1"), "a.mtx:4: row 4 is not from 1 to 3");
  EXPECT_EQ(error("-1 1"), "a.mtx:4: row -1 is not from 1 to 3");
  EXPECT_EQ(error("1 0"), "a.mtx:4: column 0 is not from 1 to 4");
  EXPECT_EQ(error("1 5"), "a.mtx:4: column 5 is not from 1 to 4");
  EXPECT_EQ(error("1 -2"), "a.mtx:4: column -2 is not from 1 to 4");
  // 2^32 + 1 and 2^64 + 1 would be 1 in fewer bits.
  EXPECT_EQ(error("4294967297 1"), "a.mtx:4: row 4294967297 is not from 1 to 3");
  EXPECT_EQ(error("1 18446744073709551617"), "a.mtx:4: column 18446744073709551617 is not from 1 to 4");
  EXPECT_EQ(error("1.0 1"), "a.mtx:4: row '1.0' is no integer");
  EXPECT_EQ(error("1 ^"), "a.mtx:4: column '^' is no integer");
  EXPECT_EQ(error("+-1 1"), "a.mtx:4: row '+-1' is no integer");
  EXPECT_EQ(error_of(coordinate("pattern general", "0 3 1\n1 1\n")), "a.mtx:3: row 1 is in a matrix without rows");
  EXPECT_EQ(error_of(coordinate("pattern general", "3 0 1\n1 1\n")),
            "a.mtx:3: column 1 is in a matrix without columns");
  const Matrix corner = matrix_of(coordinate("pattern general", "4294967295 4294967295 1\n4294967295 4294967295\n"));
  EXPECT_EQ(corner.rows, Indices{0xfffffffe});
  EXPECT_EQ(corner.columns, Indices{0xfffffffe});
}

TEST(MatrixMarketReader, RefusesLinesThatAreTooShortOrTooLong) {
  const auto error = [](std::string_view kind, std::string_view entry) {
    return error_of(coordinate(kind, std::format("3 3 1\n{}", entry)));
  };
  EXPECT_EQ(error("real general", "1\n"), "a.mtx:3: the line ends before the column");
  EXPECT_EQ(error("real general", "1 2\n"), "a.mtx:3: the line ends before the value");
  EXPECT_EQ(error("real general", "1 2 \r\n"), "a.mtx:3: the line ends before the value");
  EXPECT_EQ(error("integer general", "1 2"), "a.mtx:3: the line ends before the value");
  EXPECT_EQ(error("real general", "1 2 3 4\n"), "a.mtx:3: '4' follows the entry, which should end its line");
  EXPECT_EQ(error("real general", "1 2 3 % four\n"), "a.mtx:3: '%' follows the entry, which should end its line");
  EXPECT_EQ(error("pattern general", "1 2 3\n"), "a.mtx:3: '3' follows the entry, which should end its line");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array real general\n2 1\n1 2\n3\n"),
            "a.mtx:3: '2' follows the entry, which should end its line");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array real general\n2 1\n1\n\n% x\nx"), "a.mtx:6: value 'x' is no number");
}

// C139
TEST(MatrixMarketReader, RefusesTooFewAndTooManyEntries) {
  EXPECT_EQ(error_of(coordinate("real general", "3 3 3\n1 1 1\n\n2 2 2\n")),
            "a.mtx:5: the file ends after 2 of 3 entries");
  EXPECT_EQ(error_of(coordinate("real general", "3 3 3")), "a.mtx:2: the file ends after 0 of 3 entries");
  EXPECT_EQ(error_of(coordinate("real general", "3 3 3\n1 1 1\n2 2 2\n% x\n3 3 3\n\n1 2 4\n1 3 5\n")),
            "a.mtx:8: this entry is one more than the 3 announced");
  EXPECT_EQ(error_of(coordinate("real general", "3 3 0\n1 1 1\n")),
            "a.mtx:3: this entry is one more than the 0 announced");
  EXPECT_EQ(error_of(coordinate("real general", "3 3 3\n1 1 1\n^\n2 2 2\n")), "a.mtx:4: row '^' is no integer");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3"),
            "a.mtx:5: the file ends after 3 of 4 entries");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n4\n"),
            "a.mtx:6: this entry is one more than the 3 announced");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n"),
            "a.mtx:4: the file ends after 2 of 3 entries");
}

TEST(MatrixMarketReader, RefusesNulBytes) {
  using namespace std::string_literals;
  EXPECT_EQ(error_of(coordinate("real general", "1 1 1\n1 1 2\0\n"s)), "a.mtx:3: value '2?' is no number");
  EXPECT_EQ(error_of(coordinate("real general", "1 1 1\n1 1 2 \0"s)),
            "a.mtx:3: '?' follows the entry, which should end its line");
  EXPECT_EQ(error_of(coordinate("real general", "1 1 1\n\0"s)), "a.mtx:3: row '?' is no integer");
  EXPECT_EQ(error_of(coordinate("real general", "1 1 1\n1 1 2\n\0\0"s)),
            "a.mtx:4: this entry is one more than the 1 announced");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate real\0 general\n1 1 0\n"s),
            "a.mtx:1: field 'real?' is not supported; real, integer and pattern are");
}

// Runs `body` in a child process that gets no more address space than `bytes`, and gives its exit status. Sanitizers
// cannot do with so little: then there is no limit.
template <class Body>
int status_with_little_memory(std::size_t bytes, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    if (!sanitized) {
      const rlimit limit{bytes, bytes};
      if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(99);
    }
    _exit(body());
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

// C139: entries are counted before anything is allocated.
TEST(MatrixMarketReader, TakesNoMemoryForAHeaderThatLies) {
  const ReadOptions options{.thread_count = 1};
  EXPECT_EQ(status_with_little_memory(
                std::size_t{1} << 30,
                [&] {
                  if (error_of(coordinate("real general", "9 9 18446744073709551615\n1 1 1\n"), options) !=
                      "a.mtx:3: the file ends after 1 of 18446744073709551615 entries") {
                    return 1;
                  }
                  if (error_of("%%MatrixMarket matrix array real symmetric\n4294967295 4294967295\n1\n", options) !=
                      "a.mtx:3: the file ends after 1 of 9223372034707292160 entries") {
                    return 2;
                  }
                  if (error_of("%%MatrixMarket matrix array real general\n4294967295 4294967295\n1\n", options) !=
                      "a.mtx:3: the file ends after 1 of 18446744065119617025 entries") {
                    return 3;
                  }
                  return 0;
                }),
            0);
}

TEST(MatrixMarketReader, SaysThatThereIsNotEnoughMemory) {
  // 72 MB: more than the 64 MB that malloc may have set aside for a thread of an earlier test.
  constexpr std::size_t count = 9'000'000;
  std::string text = std::format("%%MatrixMarket matrix array integer general\n{} 1\n", count);
  for (std::size_t k = 0; k < count; ++k) text += "1\n";
  const std::string expected =
      sanitized ? "no error" : std::format("a.mtx: there is not enough memory for {} entries", count);
  EXPECT_EQ(status_with_little_memory(1, [&] { return error_of(text, {.thread_count = 1}) == expected ? 0 : 1; }), 0);
}

// ---- Faults before the entries ----

TEST(MatrixMarketReader, RefusesOtherFiles) {
  EXPECT_EQ(error_of(""), "a.mtx: file is empty");
  const std::string none = "a.mtx:1: not a Matrix Market file: this line does not start with %%MatrixMarket";
  for (const char* const text :
       {"\n", "hello\n", "%%MatrixMarke", "%MatrixMarket matrix coordinate real general\n1 1 0\n",
        "\n%%MatrixMarket matrix coordinate real general\n1 1 0\n", "%%MatrixMarkets a b c d\n"}) {
    EXPECT_EQ(error_of(text), none) << text;
  }
  EXPECT_EQ(error_of("\x1f\x8b\x08"), "a.mtx: is compressed with gzip; unpack it first");
}

TEST(MatrixMarketReader, SaysWhichWordOfTheFirstLineIsNotSupported) {
  const auto error = [](std::string_view words) { return error_of(std::format("%%MatrixMarket {}\n1 1 0\n", words)); };
  const std::string shape = "a.mtx:1: this line should be %%MatrixMarket matrix FORMAT FIELD SYMMETRY";
  EXPECT_EQ(error(""), shape);
  EXPECT_EQ(error("matrix coordinate real"), shape);
  EXPECT_EQ(error("matrix coordinate real general more"), shape);
  EXPECT_EQ(error("vector coordinate real general"), "a.mtx:1: object 'vector' is not supported; matrix is");
  EXPECT_EQ(error("matrix elemental real general"),
            "a.mtx:1: format 'elemental' is not supported; coordinate and array are");
  EXPECT_EQ(error("matrix coordinate Complex general"),
            "a.mtx:1: field 'Complex' is not supported; real, integer and pattern are");
  EXPECT_EQ(error("matrix coordinate real hermitian"),
            "a.mtx:1: symmetry 'hermitian' is not supported; general, symmetric and skew-symmetric are");
  EXPECT_EQ(error("matrix coordinate complex hermitian"),
            "a.mtx:1: field 'complex' is not supported; real, integer and pattern are");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array pattern general\n1 1\n"),
            "a.mtx:2: an array has values and cannot be a pattern");
  EXPECT_EQ(error_of(coordinate("pattern skew-symmetric", "1 1 0\n")),
            "a.mtx:2: a pattern has no signs and cannot be skew-symmetric");
}

TEST(MatrixMarketReader, RefusesSizesThatAreNone) {
  const auto error = [](std::string_view sizes, std::string_view kind = "real general") {
    return error_of(coordinate(kind, std::format("% c\n\n{}\n", sizes)));
  };
  EXPECT_EQ(error_of(coordinate("real general", "")), "a.mtx:1: the file ends before the line with its sizes");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate real general"),
            "a.mtx:1: the file ends before the line with its sizes");
  EXPECT_EQ(error_of(coordinate("real general", "% c\n\n")), "a.mtx:3: the file ends before the line with its sizes");
  EXPECT_EQ(error("3 3"), "a.mtx:4: this line should be ROWS COLUMNS ENTRIES");
  EXPECT_EQ(error("3 3 3 3"), "a.mtx:4: this line should be ROWS COLUMNS ENTRIES");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array real general\n2 1 2\n1\n1\n"),
            "a.mtx:2: this line should be ROWS COLUMNS");
  EXPECT_EQ(error("3 x 0"), "a.mtx:4: size 'x' is no count");
  EXPECT_EQ(error("-3 3 0"), "a.mtx:4: size '-3' is no count");
  EXPECT_EQ(error("3 3.0 0"), "a.mtx:4: size '3.0' is no count");
  EXPECT_EQ(error("3 3 18446744073709551616"), "a.mtx:4: size 18446744073709551616 does not fit in 64 bits");
  EXPECT_EQ(error("4294967296 1 0"), "a.mtx:4: 4294967296 rows are too many, at most 4294967295 can be");
  EXPECT_EQ(error("1 4294967296 0"), "a.mtx:4: 4294967296 columns are too many, at most 4294967295 can be");
  EXPECT_EQ(error("3 4 0", "real symmetric"), "a.mtx:4: a symmetric matrix must be square, not 3 x 4");
  EXPECT_EQ(error("4 3 0", "real skew-symmetric"), "a.mtx:4: a skew-symmetric matrix must be square, not 4 x 3");
}

TEST(MatrixMarketReader, KeepsAMessageOnOneLine) {
  const Result<Matrix> matrix = parse("x", "a\nb");
  ASSERT_FALSE(matrix);
  EXPECT_TRUE(matrix.error().starts_with("a?b:1: ")) << matrix.error();
  const std::string error = value_error(std::string(1000, '\x01'));
  EXPECT_EQ(error, "a.mtx:3: value '" + std::string(60, '?') + "...' is no number");
}

// A text that ends where the memory does, so that a read behind it is a fault.
class GuardedText {
 public:
  explicit GuardedText(std::string_view text)
      : address_(
            static_cast<char*>(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        text_(address_ + page_ - text.size(), text.size()) {
    EXPECT_LE(text.size(), page_);
    EXPECT_EQ(mprotect(address_ + page_, page_, PROT_NONE), 0);
    std::ranges::copy(text, address_ + page_ - text.size());
  }
  ~GuardedText() { munmap(address_, 2 * page_); }
  GuardedText(const GuardedText&) = delete;
  GuardedText& operator=(const GuardedText&) = delete;
  std::string_view text() const { return text_; }

 private:
  std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* address_;
  std::string_view text_;
};

TEST(MatrixMarketReader, NeverReadsBehindTheText) {
  for (const std::string_view last : {"+1 +1 +2.5e+5 ", "1 1 -inf\r", "1 1 2D1", "% comment"}) {
    const std::string text = coordinate("real general", std::format(" 1 +1 1 \n1 1 1\n{}", last));
    for (std::size_t size = 0; size <= text.size(); ++size) {
      const GuardedText guarded(std::string_view(text).substr(0, size));
      EXPECT_EQ(error_of(guarded.text()), error_of(std::string_view(text).substr(0, size)));
    }
  }
}

// ---- Chunks and threads ----

struct Sample {
  std::string text;
  std::vector<std::size_t> line_of;  // of each entry
  Matrix matrix;
};

// A file with comments, blanks and line ends of all kinds, and what is in it.
Sample make_sample(std::uint64_t seed, Symmetry symmetry, Field field, std::size_t entry_count) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  Sample sample;
  Matrix& matrix = sample.matrix;
  matrix.row_count = 50;
  matrix.column_count = symmetry == Symmetry::general ? 4'000'000'000 : 50;
  matrix.field = field;
  matrix.symmetry = symmetry;
  sample.text = std::format("%%MatrixMarket matrix coordinate {} {}\n{} {} {}\n", name_of(field), name_of(symmetry),
                            matrix.row_count, matrix.column_count, entry_count);
  std::size_t line = 3;
  const std::array<std::string_view, 4> blanks = {" ", "  ", "\t", " \t "};
  const std::array<std::string_view, 4> fillers = {"\n", "% 1 1 1\n", "  \r\n", "   % x\n"};
  for (std::size_t k = 0; k < entry_count; ++k) {
    while (below(4) == 0) {
      sample.text += fillers[below(4)];
      ++line;
    }
    auto row = static_cast<std::uint32_t>(below(matrix.row_count));
    auto column = static_cast<std::uint32_t>(below(matrix.column_count));
    if (symmetry != Symmetry::general && row < column) std::swap(row, column);
    double value = field == Field::integer ? static_cast<double>(below(2001)) - 1000
                                           : std::ldexp(static_cast<double>(random()), -static_cast<int>(below(100)));
    if (symmetry == Symmetry::skew_symmetric && row == column) value = 0;
    matrix.rows.push_back(row);
    matrix.columns.push_back(column);
    if (below(3) == 0) sample.text += blanks[below(4)];
    sample.text +=
        std::format("{}{}{}{}", below(5) == 0 ? "+" : "", row + 1, blanks[below(4)], column + std::uint64_t{1});
    if (field != Field::pattern) {
      matrix.values.push_back(value);
      std::string digits = std::format("{}", value);
      if (below(3) == 0) std::ranges::replace(digits, 'e', 'D');
      sample.text += blanks[below(4)];
      sample.text += digits;
    }
    if (below(4) == 0) sample.text += blanks[below(4)];
    sample.text += below(4) == 0 ? "\r\n" : "\n";
    sample.line_of.push_back(line++);
  }
  if (seed % 2 == 0) sample.text.pop_back();
  for (std::size_t k = 0; k < entry_count && symmetry != Symmetry::general; ++k) {
    if (matrix.rows[k] == matrix.columns[k]) continue;
    matrix.rows.push_back(matrix.columns[k]);
    matrix.columns.push_back(matrix.rows[k]);
    if (field == Field::pattern) continue;
    matrix.values.push_back(symmetry == Symmetry::skew_symmetric ? -matrix.values[k] : matrix.values[k]);
  }
  return sample;
}

TEST(MatrixMarketReader, GivesTheSameOnAnyThreadsAndChunks) {
  std::uint64_t seed = 1;
  for (const Symmetry symmetry : {Symmetry::general, Symmetry::symmetric, Symmetry::skew_symmetric}) {
    for (const Field field : {Field::real, Field::integer, Field::pattern}) {
      if (field == Field::pattern && symmetry == Symmetry::skew_symmetric) continue;
      const Sample sample = make_sample(seed++, symmetry, field, 400);
      for (const std::size_t chunk_bytes : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{100},
                                            std::size_t{1000}, std::size_t{1} << 20}) {
        for (const unsigned threads : {0U, 1U, 2U, 5U}) {
          SCOPED_TRACE(std::format("seed {}, chunks of {}, {} threads", seed - 1, chunk_bytes, threads));
          const Result<Matrix> matrix = parse_text(sample.text, {.thread_count = threads, .chunk_bytes = chunk_bytes});
          ASSERT_TRUE(matrix) << matrix.error();
          expect_same(*matrix, sample.matrix);
        }
      }
    }
  }
}

TEST(MatrixMarketReader, NamesTheFirstLineAtFaultOnAnyThreadsAndChunks) {
  const Sample sample = make_sample(21, Symmetry::general, Field::real, 300);
  std::vector<std::size_t> starts = {0};  // of the lines
  for (std::size_t i = 0; i < sample.text.size(); ++i) {
    if (sample.text[i] == '\n') starts.push_back(i + 1);
  }
  std::mt19937_64 random(21);
  for (int round = 0; round < 40; ++round) {
    // Two faults: the first one counts, whichever thread meets it.
    const std::size_t a = random() % 300;
    const std::size_t b = random() % 300;
    std::string text = sample.text;
    for (const std::size_t entry : {a, b}) text[starts[sample.line_of[entry]] - 2] = 'x';
    const std::string expected = std::format("a.mtx:{}: ", sample.line_of[std::min(a, b)]);
    std::string first;
    for (const std::size_t chunk_bytes : {std::size_t{1}, std::size_t{50}, std::size_t{1} << 20}) {
      for (const unsigned threads : {1U, 4U}) {
        const std::string error = error_of(text, {.thread_count = threads, .chunk_bytes = chunk_bytes});
        EXPECT_TRUE(error.starts_with(expected)) << error << " is not at " << expected;
        if (first.empty()) first = error;
        EXPECT_EQ(error, first);
      }
    }
  }
}

TEST(MatrixMarketReader, NamesTheLineWhereTheCountIsWrongOnAnyChunks) {
  const Sample sample = make_sample(23, Symmetry::general, Field::integer, 200);
  const std::size_t at = sample.text.find(" 200\n") + 1;
  for (const std::size_t chunk_bytes : {std::size_t{1}, std::size_t{64}, std::size_t{1} << 20}) {
    for (const std::size_t count : {std::size_t{100}, std::size_t{137}, std::size_t{199}}) {
      std::string text = sample.text;
      text.replace(at, 3, std::to_string(count));
      EXPECT_EQ(error_of(text, {.thread_count = 2, .chunk_bytes = chunk_bytes}),
                std::format("a.mtx:{}: this entry is one more than the {} announced", sample.line_of[count], count));
    }
    std::string text = sample.text;
    text.replace(at, 3, "201");
    EXPECT_EQ(error_of(text, {.thread_count = 2, .chunk_bytes = chunk_bytes}),
              std::format("a.mtx:{}: the file ends after 200 of 201 entries", sample.line_of.back()));
  }
}

TEST(MatrixMarketReader, ReadsTheCorpusTheSameOnAnyChunks) {
  std::size_t valid = 0;
  std::size_t invalid = 0;
  for (const auto& entry : fs::directory_iterator(MATRIX_MARKET_CORPUS)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const Result<Matrix> whole = parse_text(text, {.thread_count = 1});
    const Result<Matrix> pieces = parse_text(text, {.thread_count = 2, .chunk_bytes = 5});
    ASSERT_EQ(whole.has_value(), pieces.has_value());
    whole ? ++valid : ++invalid;
    EXPECT_EQ(whole.has_value(), !entry.path().filename().string().starts_with("bad_"));
    if (whole) {
      expect_same(*whole, *pieces);
    } else {
      EXPECT_EQ(whole.error(), pieces.error());
    }
  }
  EXPECT_GE(valid, 5U);
  EXPECT_GE(invalid, 5U);
}

// ---- Files ----

class MatrixMarketFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/matrix_market_test.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }

  std::string put(std::string_view name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return path(name);
  }

  std::string content(std::string_view name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

using upsweep::matrix_market::read;
using upsweep::matrix_market::write;

TEST_F(MatrixMarketFile, ReadsAFile) {
  const Sample sample = make_sample(31, Symmetry::symmetric, Field::real, 1000);
  const Result<Matrix> matrix = read(put("a.mtx", sample.text));
  ASSERT_TRUE(matrix) << matrix.error();
  expect_same(*matrix, sample.matrix);
}

TEST_F(MatrixMarketFile, GivesAnErrorForEveryTruncatedFile) {
  const std::string text = "%%MatrixMarket matrix array real general\n2 1\n1\n2\n";
  for (std::size_t size = 0; size + 1 < text.size() - 1; ++size) {
    const Result<Matrix> matrix = read(put("a.mtx", text.substr(0, size)));
    ASSERT_FALSE(matrix);
    EXPECT_TRUE(matrix.error().starts_with(path("a.mtx") + ":")) << matrix.error();
  }
  EXPECT_EQ(read(put("a.mtx", "")).error(), path("a.mtx") + ": file is empty");
}

TEST_F(MatrixMarketFile, RefusesAMissingFileAndADirectory) {
  EXPECT_EQ(read(path("no.mtx")).error(), path("no.mtx") + ": cannot open: No such file or directory");
  EXPECT_EQ(read(folder_.string()).error(), folder_.string() + ": cannot read: Is a directory");
  EXPECT_EQ(read("/dev/null").error(), "/dev/null: file is empty");
  EXPECT_TRUE(read("/dev/zero").error().starts_with("/dev/zero:1: not a Matrix Market file"));
}

TEST_F(MatrixMarketFile, ReadsAPipeIntoMemory) {
  const Sample sample = make_sample(33, Symmetry::general, Field::real, 100'000);
  ASSERT_GT(sample.text.size(), std::size_t{2} << 20);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::jthread writer([&] {
    for (std::string_view rest = sample.text; !rest.empty();) {
      const ssize_t count = ::write(ends[1], rest.data(), rest.size());
      if (count <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
    close(ends[1]);
  });
  const Result<Matrix> matrix = read("/dev/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  ASSERT_TRUE(matrix) << matrix.error();
  expect_same(*matrix, sample.matrix);
}

// ---- Writing ----

MatrixView view_of(const Matrix& matrix) {
  return {.row_count = matrix.row_count,
          .column_count = matrix.column_count,
          .format = matrix.format,
          .field = matrix.field,
          .symmetry = Symmetry::general,  // mirrored
          .rows = matrix.rows,
          .columns = matrix.columns,
          .values = matrix.values};
}

TEST_F(MatrixMarketFile, WritesTheShortestText) {
  const Indices rows = {0, 2, 1};
  const Indices columns = {3, 0, 1};
  const Values values = {0.1, -1e-300, 123456};
  MatrixView matrix{.row_count = 3, .column_count = 4, .rows = rows, .columns = columns, .values = values};
  ASSERT_TRUE(write(path("a.mtx"), matrix));
  EXPECT_EQ(content("a.mtx"),
            "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 4 0.1\n3 1 -1e-300\n2 2 123456\n");

  const Values integers = {-3, 9007199254740992.0, 100000};
  matrix.field = Field::integer;
  matrix.values = integers;
  ASSERT_TRUE(write(path("a.mtx"), matrix));
  EXPECT_EQ(content("a.mtx"),
            "%%MatrixMarket matrix coordinate integer general\n3 4 3\n1 4 -3\n3 1 9007199254740992\n2 2 100000\n");

  matrix.field = Field::pattern;
  matrix.values = {};
  ASSERT_TRUE(write(path("a.mtx"), matrix));
  EXPECT_EQ(content("a.mtx"), "%%MatrixMarket matrix coordinate pattern general\n3 4 3\n1 4\n3 1\n2 2\n");

  ASSERT_TRUE(write(path("a.mtx"), {.row_count = 3, .column_count = 1, .format = Format::array, .values = values}));
  EXPECT_EQ(content("a.mtx"), "%%MatrixMarket matrix array real general\n3 1\n0.1\n-1e-300\n123456\n");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(MatrixMarketFile, WritesWhatReadsBackAsTheSameBits) {
  Matrix matrix;
  matrix.row_count = 0xffffffff;
  matrix.column_count = 0xffffffff;
  matrix.values = {0.0,
                   -0.0,
                   infinity,
                   -infinity,
                   std::numeric_limits<double>::quiet_NaN(),
                   -std::numeric_limits<double>::quiet_NaN(),
                   std::numeric_limits<double>::denorm_min(),
                   -std::numeric_limits<double>::min(),
                   std::numeric_limits<double>::max(),
                   0.1,
                   1.0 / 3};
  std::mt19937_64 random(41);
  while (matrix.values.size() < 100'000) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isnan(value)) matrix.values.push_back(value);
  }
  for (std::size_t k = 0; k < matrix.values.size(); ++k) {
    matrix.rows.push_back(static_cast<std::uint32_t>(random() % 0xffffffff));
    matrix.columns.push_back(0xfffffffe - static_cast<std::uint32_t>(k));
  }
  ASSERT_TRUE(write(path("a.mtx"), view_of(matrix)));
  const Result<Matrix> sparse = read(path("a.mtx"));
  ASSERT_TRUE(sparse) << sparse.error();
  expect_same(*sparse, matrix);

  matrix.format = Format::array;
  matrix.row_count = 1000;
  matrix.column_count = 100;
  matrix.rows.clear();
  matrix.columns.clear();
  ASSERT_TRUE(write(path("a.mtx"), view_of(matrix)));
  const Result<Matrix> dense = read(path("a.mtx"));
  ASSERT_TRUE(dense) << dense.error();
  expect_same(*dense, matrix);
}

TEST_F(MatrixMarketFile, WritesSymmetricMatricesFromTheirLowerTriangle) {
  const Indices rows = {0, 2, 2};
  const Indices columns = {0, 0, 1};
  const Values values = {0, 5, 6};
  MatrixView matrix{.row_count = 3, .column_count = 3, .rows = rows, .columns = columns, .values = values};
  for (const auto& [symmetry, mirrored] : {std::pair{Symmetry::symmetric, Values{0, 5, 6, 5, 6}},
                                           std::pair{Symmetry::skew_symmetric, Values{0, 5, 6, -5, -6}}}) {
    matrix.symmetry = symmetry;
    const auto ok = write(path("a.mtx"), matrix);
    ASSERT_TRUE(ok) << ok.error();
    const Result<Matrix> again = read(path("a.mtx"));
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again->symmetry, symmetry);
    EXPECT_EQ(again->values, mirrored);
    EXPECT_EQ(read(path("a.mtx"), {.mirror = false})->rows, rows);
  }
}

TEST_F(MatrixMarketFile, WritesMatricesWithoutEntries) {
  ASSERT_TRUE(write(path("a.mtx"), {.row_count = 3, .column_count = 4, .field = Field::pattern}));
  EXPECT_EQ(content("a.mtx"), "%%MatrixMarket matrix coordinate pattern general\n3 4 0\n");
  ASSERT_TRUE(write(path("b.mtx"), {.format = Format::array}));
  EXPECT_EQ(content("b.mtx"), "%%MatrixMarket matrix array real general\n0 0\n");
}

TEST_F(MatrixMarketFile, RefusesToWriteWhatIsNoMatrix) {
  const Indices rows = {0, 2};
  const Indices columns = {1, 0};
  const Values values = {1, 2.5};
  const MatrixView good{.row_count = 3, .column_count = 3, .rows = rows, .columns = columns, .values = values};
  put("a.mtx", "old");
  const auto error = [&](const auto& change) {
    MatrixView matrix = good;
    change(matrix);
    const auto ok = write(path("a.mtx"), matrix);
    if (ok) return std::string("no error");
    return ok.error().substr(path("a.mtx").size());
  };
  const std::span<const double> one_value = std::span(values).first(1);
  EXPECT_EQ(error([&](MatrixView& m) { m.values = one_value; }),
            ": 2 rows, 2 columns and 1 values do not make a matrix of 3 x 3 (coordinate, real)");
  EXPECT_EQ(error([&](MatrixView& m) { m.rows = m.rows.first(1); }),
            ": 1 rows, 2 columns and 2 values do not make a matrix of 3 x 3 (coordinate, real)");
  EXPECT_EQ(error([](MatrixView& m) { m.field = Field::pattern; }),
            ": 2 rows, 2 columns and 2 values do not make a matrix of 3 x 3 (coordinate, pattern)");
  EXPECT_EQ(error([](MatrixView& m) { m.format = Format::array; }),
            ": 2 rows, 2 columns and 2 values do not make a matrix of 3 x 3 (array, real)");
  EXPECT_EQ(error([](MatrixView& m) { m = {.row_count = 3, .column_count = 1, .format = Format::array}; }),
            ": 0 rows, 0 columns and 0 values do not make a matrix of 3 x 1 (array, real)");
  EXPECT_EQ(error([](MatrixView& m) { m.row_count = 2; }),
            ": entry 1 at (2, 0), counted from 0, is outside a matrix of 2 x 3");
  EXPECT_EQ(error([](MatrixView& m) { m.column_count = 1; }),
            ": entry 0 at (0, 1), counted from 0, is outside a matrix of 3 x 1");
  EXPECT_EQ(error([](MatrixView& m) { m.row_count = std::uint64_t{1} << 32; }),
            ": 4294967296 rows are too many, at most 4294967295 can be");
  EXPECT_EQ(error([](MatrixView& m) { m.field = Field::integer; }), ": value 2.5 of entry 1 is no integer up to 2^53");
  EXPECT_EQ(error([](MatrixView& m) { m.symmetry = Symmetry::symmetric; }),
            ": entry 0 at (0, 1), counted from 0, is above the diagonal of a symmetric matrix");
  EXPECT_EQ(error([](MatrixView& m) {
              m.symmetry = Symmetry::symmetric;
              m.column_count = 4;
            }),
            ": a symmetric matrix must be square, not 3 x 4");
  EXPECT_EQ(error([&](MatrixView& m) {
              m.symmetry = Symmetry::skew_symmetric;
              m.columns = m.rows;
            }),
            ": entry 0 is 1 on the diagonal of a skew-symmetric matrix, which is 0");
  EXPECT_EQ(error([](MatrixView& m) { m = {.format = Format::array, .symmetry = Symmetry::symmetric}; }),
            ": an array is written as general only, not symmetric");
  for (const double value : {infinity, -infinity, std::nan(""), 9007199254740994.0}) {
    const Values large = {1, value};
    EXPECT_EQ(error([&](MatrixView& m) {
                m.field = Field::integer;
                m.values = large;
              }),
              std::format(": value {} of entry 1 is no integer up to 2^53", value));
  }
  EXPECT_EQ(content("a.mtx"), "old");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(MatrixMarketFile, ReportsAFullDiskAndAMissingDirectory) {
  const MatrixView matrix{.row_count = 3, .column_count = 4};
  if (fs::exists("/dev/full")) {
    EXPECT_EQ(write("/dev/full", matrix).error(), "/dev/full: cannot write: No space left on device");
  }
  EXPECT_EQ(write(path("no/a.mtx"), matrix).error(),
            path("no/a.mtx") + ": cannot create a temporary file in '" + path("no") + "': No such file or directory");
}

}  // namespace
