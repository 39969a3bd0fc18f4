// Matrix Market .mtx files: a strict reader that works in parallel, and a writer.
//
// Read: `matrix` objects in formats coordinate and array; fields real, integer and pattern (coordinate only);
// symmetries general, symmetric and skew-symmetric (not of a pattern). complex and hermitian are refused.
// Layout: words in any case in the first line; blanks (space, tab, carriage return, ...) before, after and between
// numbers; blank lines and lines that start with % anywhere behind the first line; one entry a line, nothing behind it;
// the last line end may be missing.
// Numbers: a leading +; exponents with e, E, d or D; inf, infinity and nan in any case. What is nearer to 0 than a
// double can be becomes 0; what is too large for one is an error, and so are integers beyond +-2^53.
//
// Sizes are in bytes unless a name says otherwise. Nothing here throws, except std::bad_alloc for small strings and
// vectors. Errors are one line that starts with the file's name and, where there is one, the number of the line at
// fault: "a.mtx:7: row 4 is not from 1 to 3".
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace upsweep::matrix_market {

template <class T>
using Result = std::expected<T, std::string>;

enum class Format : std::uint8_t { coordinate, array };
enum class Field : std::uint8_t { real, integer, pattern };
enum class Symmetry : std::uint8_t { general, symmetric, skew_symmetric };

// The words of a file's first line for these, in lower case.
std::string_view name_of(Format format);
std::string_view name_of(Field field);
std::string_view name_of(Symmetry symmetry);

// The most rows or columns: 2^32 - 1. Counts then fit a u32, and no index is 0xFFFFFFFF, which may mark padding.
inline constexpr std::uint64_t max_dimension = 0xffff'ffff;

// A matrix as it was read.
//
// coordinate: entry k is values[k] at (rows[k], columns[k]), counted from 0. Entries keep the order of the file; they
// are not sorted, duplicates are not summed and stored zeros are kept. Mirror entries follow (ReadOptions::mirror).
//
// array: all row_count * column_count values, column by column, whatever the symmetry: value k is at
// (k % row_count, k / row_count). A file of N x 1 is thus a vector of N values. rows and columns are empty; see
// add_indices.
struct Matrix {
  std::uint64_t row_count = 0;  // at most max_dimension
  std::uint64_t column_count = 0;
  Format format = Format::coordinate;  // this and the next two as the file's first line says
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> columns;
  std::vector<double> values;  // empty for a pattern, whose entries all are 1
};

struct ReadOptions {
  // For coordinate files that are symmetric or skew-symmetric: appends the mirror image of every entry off the
  // diagonal, in their order, behind all entries of the file; negated if skew-symmetric. Without it there is one
  // triangle only.
  bool mirror = true;

  // Threads that read, this one counted; 0 for one per core.
  unsigned thread_count = 0;

  // Lines are shared out in pieces of about this size; at least 1. The result does not depend on it.
  std::size_t chunk_bytes = std::size_t{1} << 20;
};

// Reads a file. A regular file is memory-mapped and must not get shorter meanwhile (a SIGBUS); anything else, such as
// a pipe, is read into memory as a whole.
//
// Fails when the file cannot be read or is not as described above; with more or fewer entries than announced; with an
// index that is not from 1 to the number of rows or columns; with a value other than 0 on the diagonal of a
// skew-symmetric matrix; and when a symmetric or skew-symmetric coordinate file has entries on both sides of the
// diagonal. The standard stores the lower triangle; the upper one is accepted as well, but with both, mirroring would
// silently double values. Entries are counted before memory is taken, so a lying header costs nothing.
Result<Matrix> read(const std::string& path, const ReadOptions& options = {});

// The same over the text of a file. `name` is for messages.
Result<Matrix> parse(std::string_view text, std::string_view name, const ReadOptions& options = {});

// Fills rows and columns of a matrix in array format with the place of every value, zeros too. Nothing to do for
// others. May throw std::bad_alloc.
void add_indices(Matrix& matrix);

// A matrix to write. Indices count from 0; rows and columns are as long as each other and as values, which is empty
// for a pattern. In array format rows and columns are empty and values are all of them, column by column.
struct MatrixView {
  std::uint64_t row_count = 0;  // at most max_dimension
  std::uint64_t column_count = 0;
  Format format = Format::coordinate;
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
  std::span<const std::uint32_t> rows;
  std::span<const std::uint32_t> columns;
  std::span<const double> values;
};

// Writes a file, entries in their order. Values are the shortest texts that read back as the same bits, but for the
// payload of a NaN and, in an integer file, the sign of -0. The file comes and goes as described at OutputFile.
//
// Fails when it cannot be written, and before anything is written when the matrix is no matrix: lengths that differ,
// an index outside, values of an integer matrix that are no integers up to 2^53, a symmetry that the standard does not
// know for the format or field. Symmetric and skew-symmetric matrices are given as their lower triangle (an entry above
// the diagonal is an error), in coordinate format only.
Result<void> write(const std::string& path, const MatrixView& matrix);

}  // namespace upsweep::matrix_market
