#include "matrix_market.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <format>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "input_file.h"
#include "output_file.h"

namespace upsweep::matrix_market {
namespace {

constexpr std::string_view banner = "%%MatrixMarket";
constexpr std::array<std::string_view, 2> format_names = {"coordinate", "array"};
constexpr std::array<std::string_view, 3> field_names = {"real", "integer", "pattern"};
constexpr std::array<std::string_view, 3> symmetry_names = {"general", "symmetric", "skew-symmetric"};

// Every integer up to this has a double of its own.
constexpr std::int64_t max_exact_integer = std::int64_t{1} << 53;

std::unexpected<std::string> error_at(std::string_view name, std::uint64_t line, std::string_view what) {
  return std::unexpected(std::format("{}:{}: {}", npy::one_line(name), line, what));
}

// ---- Text ----

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

const char* skip_blanks(const char* p, const char* end) {
  while (p != end && is_blank(*p)) ++p;
  return p;
}

bool at_line_end(const char* p, const char* end) { return p == end || *p == '\n'; }

bool at_token_end(const char* p, const char* end) { return at_line_end(p, end) || is_blank(*p); }

// The start of the line after `p`, or the end.
const char* next_line(const char* p, const char* end) {
  const void* const found = std::memchr(p, '\n', static_cast<std::size_t>(end - p));
  return found == nullptr ? end : static_cast<const char*>(found) + 1;
}

const char* end_of(std::string_view text) { return text.data() + text.size(); }

std::string_view token_at(const char* p, const char* end) {
  const char* stop = p;
  while (!at_token_end(stop, end)) ++stop;
  return {p, stop};
}

// std::from_chars takes no plus sign. Before another sign it stays, so that "+-1" is no number.
const char* skip_plus(const char* p, const char* end) { return end - p >= 2 && p[0] == '+' && p[1] != '-' ? p + 1 : p; }

// ---- Numbers ----

// Why an entry is refused.
enum class Problem : std::uint8_t {
  none,
  missing,
  no_integer,
  outside,
  no_number,
  too_large,
  inexact,
  left_over,
  diagonal
};

bool is_integer(std::string_view token) {
  if (token.starts_with('+') || token.starts_with('-')) token.remove_prefix(1);
  return !token.empty() && token.find_first_not_of("0123456789") == std::string_view::npos;
}

// These parse the number at `p` and move `p` behind it, or leave `p` alone and give the problem.

// An index from 1 to `count`, less 1.
Problem parse_index(const char*& p, const char* end, std::uint64_t count, std::uint32_t& index) {
  std::uint64_t number = 0;
  const auto [stop, code] = std::from_chars(skip_plus(p, end), end, number);
  if (code != std::errc{} || !at_token_end(stop, end)) {
    const std::string_view token = token_at(p, end);
    if (token.empty()) return Problem::missing;
    return is_integer(token) ? Problem::outside : Problem::no_integer;
  }
  if (number == 0 || number > count) return Problem::outside;
  index = static_cast<std::uint32_t>(number - 1);
  p = stop;
  return Problem::none;
}

Problem parse_integer(const char*& p, const char* end, double& value) {
  std::int64_t number = 0;
  const auto [stop, code] = std::from_chars(skip_plus(p, end), end, number);
  if (code != std::errc{} || !at_token_end(stop, end)) {
    const std::string_view token = token_at(p, end);
    if (token.empty()) return Problem::missing;
    return is_integer(token) ? Problem::inexact : Problem::no_integer;
  }
  if (number < -max_exact_integer || number > max_exact_integer) return Problem::inexact;
  value = static_cast<double>(number);
  p = stop;
  return Problem::none;
}

// Whether a decimal number that is out of a double's range is so because it is near 0.
bool is_tiny(std::string_view number) {
  const std::string_view mantissa = number.substr(0, number.find_first_of("eE"));
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = std::min(mantissa.find_first_of("123456789"), mantissa.size());
  std::int64_t exponent = 0;
  if (mantissa.size() < number.size()) {
    const std::string_view text = number.substr(mantissa.size() + 1);
    const char* const begin = text.data();
    const char* const end = end_of(text);
    if (std::from_chars(skip_plus(begin, end), end, exponent).ec != std::errc{}) return text.starts_with('-');
  }
  // The digits other than 0 begin near 10^(point - first). A number out of range is far from 1, so near is enough.
  return exponent < static_cast<std::int64_t>(first) - static_cast<std::int64_t>(point);
}

// What std::from_chars did not take in one go: Fortran's exponents, numbers out of range, and faults.
Problem parse_unusual_real(const char*& p, const char* end, double& value) {
  const std::string_view token = token_at(p, end);
  if (token.empty()) return Problem::missing;
  std::array<char, 2048> text;  // a double has up to 767 digits; a longer token is taken only as it is
  const char* const begin = token.data();
  const char* last = end_of(token);
  const char* first = skip_plus(begin, last);
  if (token.size() <= text.size()) {
    const auto replaced = std::ranges::replace_copy_if(
        std::string_view(first, last), text.begin(), [](char c) { return c == 'd' || c == 'D'; }, 'e');
    first = text.data();
    last = replaced.out;
  }
  const auto [stop, code] = std::from_chars(first, last, value);
  if (code == std::errc::invalid_argument || stop != last) return Problem::no_number;
  if (code == std::errc::result_out_of_range) {
    if (!is_tiny({first, last})) return Problem::too_large;
    value = *first == '-' ? -0.0 : 0.0;
  }
  p = end_of(token);
  return Problem::none;
}

Problem parse_real(const char*& p, const char* end, double& value) {
  const auto [stop, code] = std::from_chars(skip_plus(p, end), end, value);
  if (code != std::errc{} || !at_token_end(stop, end)) return parse_unusual_real(p, end, value);
  p = stop;
  return Problem::none;
}

// ---- The lines before the entries ----

struct Header {
  Format format = Format::coordinate;
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
  std::uint64_t row_count = 0;
  std::uint64_t column_count = 0;
  std::uint64_t entry_count = 0;  // of the file
  std::uint64_t line_count = 0;   // up to the size line
  const char* end = nullptr;      // of the size line
};

std::vector<std::string_view> words_of(const char* p, const char* end, std::size_t limit) {
  std::vector<std::string_view> words;
  for (p = skip_blanks(p, end); !at_line_end(p, end) && words.size() < limit; p = skip_blanks(p, end)) {
    words.push_back(token_at(p, end));
    p += words.back().size();
  }
  return words;
}

bool equals_in_any_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

template <class Enum, std::size_t size>
std::optional<Enum> find_name(const std::array<std::string_view, size>& names, std::string_view word) {
  for (std::size_t i = 0; i < size; ++i) {
    if (equals_in_any_case(names[i], word)) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

Result<void> parse_banner(std::string_view text, std::string_view name, Header& header) {
  if (text.empty()) return npy::file_error(name, "file is empty");
  const char* const begin = text.data();
  if (text.starts_with("\x1f\x8b")) return npy::file_error(name, "is compressed with gzip; unpack it first");
  const std::vector<std::string_view> words = words_of(begin, end_of(text), 6);
  if (words.empty() || !equals_in_any_case(words[0], banner)) {
    return error_at(name, 1, std::format("not a Matrix Market file: this line does not start with {}", banner));
  }
  if (words.size() != 5) {
    return error_at(name, 1, std::format("this line should be {} matrix FORMAT FIELD SYMMETRY", banner));
  }
  if (!equals_in_any_case(words[1], "matrix")) {
    return error_at(name, 1, std::format("object '{}' is not supported; matrix is", npy::excerpt(words[1])));
  }
  const auto format = find_name<Format>(format_names, words[2]);
  if (!format) {
    return error_at(name, 1,
                    std::format("format '{}' is not supported; coordinate and array are", npy::excerpt(words[2])));
  }
  const auto field = find_name<Field>(field_names, words[3]);
  if (!field) {
    return error_at(name, 1,
                    std::format("field '{}' is not supported; real, integer and pattern are", npy::excerpt(words[3])));
  }
  const auto symmetry = find_name<Symmetry>(symmetry_names, words[4]);
  if (!symmetry) {
    return error_at(name, 1,
                    std::format("symmetry '{}' is not supported; general, symmetric and skew-symmetric are",
                                npy::excerpt(words[4])));
  }
  header.format = *format;
  header.field = *field;
  header.symmetry = *symmetry;
  return {};
}

// What is wrong with the combination of words and sizes, for the reader and the writer alike; empty if nothing.
std::string contradiction(Format format, Field field, Symmetry symmetry, std::uint64_t rows, std::uint64_t columns) {
  if (field == Field::pattern && format == Format::array) return "an array has values and cannot be a pattern";
  if (field == Field::pattern && symmetry == Symmetry::skew_symmetric) {
    return "a pattern has no signs and cannot be skew-symmetric";
  }
  if (rows > max_dimension) return std::format("{} rows are too many, at most {} can be", rows, max_dimension);
  if (columns > max_dimension) return std::format("{} columns are too many, at most {} can be", columns, max_dimension);
  if (symmetry != Symmetry::general && rows != columns) {
    return std::format("a {} matrix must be square, not {} x {}", name_of(symmetry), rows, columns);
  }
  return {};
}

Result<Header> parse_header(std::string_view text, std::string_view name) {
  Header header;
  if (const auto ok = parse_banner(text, name, header); !ok) return std::unexpected(ok.error());

  const char* const end = end_of(text);
  const char* p = text.data();
  p = next_line(p, end);
  header.line_count = 1;
  const char* line = p;
  for (;; p = next_line(p, end)) {
    if (p == end) return error_at(name, header.line_count, "the file ends before the line with its sizes");
    ++header.line_count;
    line = skip_blanks(p, end);
    if (!at_line_end(line, end) && *line != '%') break;
  }
  header.end = next_line(line, end);

  const bool sparse = header.format == Format::coordinate;
  const std::size_t size_count = sparse ? 3 : 2;
  const std::vector<std::string_view> words = words_of(line, end, size_count + 1);
  if (words.size() != size_count) {
    return error_at(name, header.line_count,
                    std::format("this line should be {}", sparse ? "ROWS COLUMNS ENTRIES" : "ROWS COLUMNS"));
  }
  std::array<std::uint64_t, 3> sizes{};
  for (std::size_t i = 0; i < size_count; ++i) {
    const char* const word = words[i].data();
    const char* const word_end = end_of(words[i]);
    const auto [stop, code] = std::from_chars(skip_plus(word, word_end), word_end, sizes[i]);
    if (code == std::errc::result_out_of_range && is_integer(words[i])) {
      return error_at(name, header.line_count, std::format("size {} does not fit in 64 bits", npy::excerpt(words[i])));
    }
    if (code != std::errc{} || stop != word_end) {
      return error_at(name, header.line_count, std::format("size '{}' is no count", npy::excerpt(words[i])));
    }
  }
  header.row_count = sizes[0];
  header.column_count = sizes[1];
  const std::string fault =
      contradiction(header.format, header.field, header.symmetry, header.row_count, header.column_count);
  if (!fault.empty()) return error_at(name, header.line_count, fault);

  // None of these overflows with at most 2^32 - 1 rows and columns.
  if (sparse) {
    header.entry_count = sizes[2];
  } else if (header.symmetry == Symmetry::general) {
    header.entry_count = header.row_count * header.column_count;
  } else if (header.symmetry == Symmetry::symmetric) {
    header.entry_count = header.row_count * (header.row_count + 1) / 2;
  } else if (header.row_count > 0) {
    header.entry_count = header.row_count * (header.row_count - 1) / 2;
  }
  return header;
}

// ---- The entries, in chunks of whole lines ----

struct Fault {
  Problem problem = Problem::none;
  std::string_view part;   // row, column or value
  std::string_view token;  // of the file
  std::uint64_t line = 0;
};

struct Chunk {
  const char* begin = nullptr;
  const char* end = nullptr;
  std::uint64_t line_count = 0;
  std::uint64_t entry_count = 0;
  std::uint64_t first_line = 0;   // number of its first line
  std::uint64_t first_entry = 0;  // entries before it
  std::uint64_t mirror_count = 0;
  // The first line with an entry below, or above, the diagonal; 0 if there is none.
  std::uint64_t below_line = 0;
  std::uint64_t above_line = 0;
  Fault fault;
};

// Calls work(i) for i from 0 to count - 1, in this order but on several threads; none is begun after one gave false.
template <class Work>
void run_in_parallel(std::size_t count, unsigned thread_count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      if (!work(i)) next = count;
    }
  };
  if (thread_count == 0) thread_count = std::thread::hardware_concurrency();
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min<std::size_t>(thread_count, count); ++i) {
    try {
      threads.emplace_back(run);
    } catch (const std::system_error&) {
      break;  // the threads that there are do it, if only this one
    }
  }
  run();
}

std::vector<Chunk> cut(const char* p, const char* end, std::size_t chunk_bytes) {
  std::vector<Chunk> chunks;
  while (p != end) {
    const char* stop = end;
    if (static_cast<std::size_t>(end - p) > chunk_bytes) stop = next_line(p + (chunk_bytes - 1), end);
    chunks.push_back({.begin = p, .end = stop});
    p = stop;
  }
  return chunks;
}

void count_lines(Chunk& chunk) {
  std::uint64_t lines = 0;
  std::uint64_t entries = 0;
  for (const char* p = chunk.begin; p != chunk.end; p = next_line(p, chunk.end)) {
    ++lines;
    p = skip_blanks(p, chunk.end);
    if (!at_line_end(p, chunk.end) && *p != '%') ++entries;
  }
  chunk.line_count = lines;
  chunk.entry_count = entries;
}

// The number of the line with entry `index` of the chunk.
std::uint64_t line_of_entry(const Chunk& chunk, std::uint64_t index) {
  std::uint64_t line = chunk.first_line;
  for (const char* p = chunk.begin; p != chunk.end; p = next_line(p, chunk.end), ++line) {
    p = skip_blanks(p, chunk.end);
    if (!at_line_end(p, chunk.end) && *p != '%' && index-- == 0) break;
  }
  return line;
}

// Calls parse_entry(p, line, fault) at each entry of the chunk, which moves p behind it, until one has a fault.
template <class ParseEntry>
void parse_lines(Chunk& chunk, const ParseEntry& parse_entry) {
  const char* const end = chunk.end;
  std::uint64_t line = chunk.first_line;
  for (const char* p = chunk.begin; p != end; ++line) {
    p = skip_blanks(p, end);
    if (!at_line_end(p, end)) {
      if (*p == '%') {
        p = next_line(p, end);
        continue;
      }
      Fault fault = parse_entry(p, line);
      if (fault.problem == Problem::none) {
        p = skip_blanks(p, end);
        if (!at_line_end(p, end)) fault = {Problem::left_over, "", token_at(p, end)};
      }
      if (fault.problem != Problem::none) {
        chunk.fault = fault;
        chunk.fault.line = line;
        return;
      }
    }
    if (p != end) ++p;
  }
}

template <Field field>
Problem parse_value(const char*& p, const char* end, double& value) {
  if constexpr (field == Field::integer) {
    return parse_integer(p, end, value);
  } else {
    return parse_real(p, end, value);
  }
}

template <Field field>
void parse_coordinates(Chunk& chunk, const Header& header, Matrix& matrix) {
  const char* const end = chunk.end;
  const bool general = header.symmetry == Symmetry::general;
  const bool skew = header.symmetry == Symmetry::skew_symmetric;
  std::uint32_t* const rows = matrix.rows.data();
  std::uint32_t* const columns = matrix.columns.data();
  double* const values = matrix.values.data();
  std::size_t k = chunk.first_entry;
  std::uint64_t mirrors = 0;
  std::uint64_t below_line = 0;
  std::uint64_t above_line = 0;
  parse_lines(chunk, [&](const char*& p, std::uint64_t line) -> Fault {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    if (const Problem problem = parse_index(p, end, header.row_count, row); problem != Problem::none) {
      return {problem, "row", token_at(p, end)};
    }
    p = skip_blanks(p, end);
    if (const Problem problem = parse_index(p, end, header.column_count, column); problem != Problem::none) {
      return {problem, "column", token_at(p, end)};
    }
    if constexpr (field != Field::pattern) {
      p = skip_blanks(p, end);
      const char* const start = p;
      double value = 0;
      if (const Problem problem = parse_value<field>(p, end, value); problem != Problem::none) {
        return {problem, "value", token_at(p, end)};
      }
      if (skew && row == column && value != 0) return {Problem::diagonal, "value", {start, p}};
      values[k] = value;
    }
    rows[k] = row;
    columns[k] = column;
    ++k;
    if (!general && row != column) {
      ++mirrors;
      std::uint64_t& first = row > column ? below_line : above_line;
      if (first == 0) first = line;
    }
    return {};
  });
  chunk.mirror_count = mirrors;
  chunk.below_line = below_line;
  chunk.above_line = above_line;
}

template <Field field>
void parse_array(Chunk& chunk, std::vector<double>& values) {
  std::size_t k = chunk.first_entry;
  parse_lines(chunk, [&](const char*& p, std::uint64_t) -> Fault {
    const Problem problem = parse_value<field>(p, chunk.end, values[k]);
    if (problem != Problem::none) return {problem, "value", token_at(p, chunk.end)};
    ++k;
    return {};
  });
}

std::string describe(const Fault& fault, const Header& header) {
  const std::string token = npy::excerpt(fault.token);
  switch (fault.problem) {
    case Problem::none: break;
    case Problem::missing: return std::format("the line ends before the {}", fault.part);
    case Problem::no_integer: return std::format("{} '{}' is no integer", fault.part, token);
    case Problem::outside: {
      const std::uint64_t count = fault.part == "row" ? header.row_count : header.column_count;
      if (count == 0) return std::format("{} {} is in a matrix without {}s", fault.part, token, fault.part);
      return std::format("{} {} is not from 1 to {}", fault.part, token, count);
    }
    case Problem::no_number: return std::format("value '{}' is no number", token);
    case Problem::too_large: return std::format("value {} is too large for a double", token);
    case Problem::inexact: return std::format("integer {} is beyond 2^53, a double would not hold it exactly", token);
    case Problem::left_over: return std::format("'{}' follows the entry, which should end its line", token);
    case Problem::diagonal:
      return std::format("value {} is on the diagonal of a skew-symmetric matrix, which is 0", token);
  }
  return {};
}

// Makes `vector` of `size` zeros, with room for `capacity` of them; false when there is not enough memory.
template <class T>
bool allocate(std::vector<T>& vector, std::uint64_t size, std::uint64_t capacity) {
  try {
    vector.reserve(capacity);
    vector.resize(size);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::length_error&) {
    return false;
  }
}

std::unexpected<std::string> no_memory(std::string_view name, std::uint64_t count) {
  return npy::file_error(name, std::format("there is not enough memory for {} entries", count));
}

void append_mirrors(const std::vector<Chunk>& chunks, unsigned thread_count, Matrix& matrix) {
  std::vector<std::uint64_t> begins;
  std::uint64_t size = matrix.rows.size();
  for (const Chunk& chunk : chunks) {
    begins.push_back(size);
    size += chunk.mirror_count;
  }
  // There is room: nothing moves.
  matrix.rows.resize(size);
  matrix.columns.resize(size);
  const bool has_values = matrix.field != Field::pattern;
  if (has_values) matrix.values.resize(size);
  const bool skew = matrix.symmetry == Symmetry::skew_symmetric;
  run_in_parallel(chunks.size(), thread_count, [&](std::size_t i) {
    std::size_t out = begins[i];
    const std::size_t end = chunks[i].first_entry + chunks[i].entry_count;
    for (std::size_t k = chunks[i].first_entry; k < end; ++k) {
      if (matrix.rows[k] == matrix.columns[k]) continue;
      matrix.rows[out] = matrix.columns[k];
      matrix.columns[out] = matrix.rows[k];
      if (has_values) matrix.values[out] = skew ? -matrix.values[k] : matrix.values[k];
      ++out;
    }
    return true;
  });
}

// The whole matrix of n x n from its lower triangle, column by column; without the diagonal if skew-symmetric.
Result<void> unpack_triangle(std::string_view name, Matrix& matrix) {
  const std::uint64_t n = matrix.row_count;
  const bool skew = matrix.symmetry == Symmetry::skew_symmetric;
  std::vector<double> whole;
  if (!allocate(whole, n * n, n * n)) return no_memory(name, n * n);
  std::size_t k = 0;
  for (std::size_t column = 0; column < n; ++column) {
    for (std::size_t row = column + (skew ? 1 : 0); row < n; ++row) {
      const double value = matrix.values[k++];
      whole[row * n + column] = skew ? -value : value;
      whole[column * n + row] = value;
    }
  }
  matrix.values = std::move(whole);
  return {};
}

// ---- Files ----

class Mapping {
 public:
  Mapping(int descriptor, std::size_t size)
      : address_(mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0)), size_(size) {}
  ~Mapping() {
    if (address_ != MAP_FAILED) munmap(address_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  bool failed() const { return address_ == MAP_FAILED; }
  std::string_view text() const { return {static_cast<const char*>(address_), size_}; }

 private:
  void* address_;
  std::size_t size_;
};

Result<std::string> read_all(int descriptor, const std::string& path) {
  constexpr std::size_t step = std::size_t{1} << 20;
  std::string text;
  bool checked = false;
  for (;;) {
    const std::size_t size = text.size();
    ssize_t count = -1;
    int code = 0;
    try {
      text.resize_and_overwrite(size + step, [&](char* data, std::size_t) {
        do {
          count = ::read(descriptor, data + size, step);
        } while (count < 0 && errno == EINTR);
        code = errno;
        return size + static_cast<std::size_t>(std::max<ssize_t>(count, 0));
      });
    } catch (const std::bad_alloc&) {
      code = ENOMEM;
    }
    if (count < 0) return npy::system_error(path, "cannot read", code);
    if (count == 0) return text;
    // What never ends, as /dev/zero, is refused early.
    if (!checked && text.size() >= step) {
      Header header;
      if (const auto ok = parse_banner(text, path, header); !ok) return std::unexpected(ok.error());
      checked = true;
    }
  }
}

// ---- Writing ----

// Text on its way to a file, in large pieces.
class Output {
 public:
  explicit Output(npy::OutputFile file) : file_(std::move(file)) { text_.reserve(flush_size + line_size); }

  void add(std::string_view text) { text_ += text; }

  template <class Number>
  void add_number(Number number) {
    std::array<char, 32> digits;  // the longest double has 24
    const auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    text_.append(digits.data(), end);
  }

  Result<void> end_line() {
    text_ += '\n';
    return text_.size() < flush_size ? Result<void>{} : flush();
  }

  Result<void> commit() {
    if (const auto ok = flush(); !ok) return ok;
    return file_.commit();
  }

 private:
  static constexpr std::size_t flush_size = std::size_t{1} << 20;
  static constexpr std::size_t line_size = 256;

  Result<void> flush() {
    const auto ok = file_.write(std::as_bytes(std::span(text_)));
    text_.clear();
    return ok;
  }

  npy::OutputFile file_;
  std::string text_;
};

// What is wrong with a matrix to write; empty if nothing.
std::string fault_of(const MatrixView& matrix) {
  const bool sparse = matrix.format == Format::coordinate;
  const bool has_values = matrix.field != Field::pattern;
  std::string fault =
      contradiction(matrix.format, matrix.field, matrix.symmetry, matrix.row_count, matrix.column_count);
  if (!fault.empty()) return fault;
  if (!sparse && matrix.symmetry != Symmetry::general) {
    return std::format("an array is written as general only, not {}", name_of(matrix.symmetry));
  }
  const std::uint64_t entry_count = sparse ? matrix.rows.size() : matrix.row_count * matrix.column_count;
  if (matrix.columns.size() != matrix.rows.size() || (!sparse && !matrix.rows.empty()) ||
      matrix.values.size() != (has_values ? entry_count : 0)) {
    return std::format("{} rows, {} columns and {} values do not make a matrix of {} x {} ({}, {})", matrix.rows.size(),
                       matrix.columns.size(), matrix.values.size(), matrix.row_count, matrix.column_count,
                       name_of(matrix.format), name_of(matrix.field));
  }
  for (std::size_t k = 0; k < matrix.rows.size(); ++k) {
    const std::uint32_t row = matrix.rows[k];
    const std::uint32_t column = matrix.columns[k];
    if (row >= matrix.row_count || column >= matrix.column_count) {
      return std::format("entry {} at ({}, {}), counted from 0, is outside a matrix of {} x {}", k, row, column,
                         matrix.row_count, matrix.column_count);
    }
    if (matrix.symmetry == Symmetry::general) continue;
    if (row < column) {
      return std::format("entry {} at ({}, {}), counted from 0, is above the diagonal of a {} matrix", k, row, column,
                         name_of(matrix.symmetry));
    }
    if (matrix.symmetry == Symmetry::skew_symmetric && row == column && matrix.values[k] != 0) {
      return std::format("entry {} is {} on the diagonal of a skew-symmetric matrix, which is 0", k, matrix.values[k]);
    }
  }
  if (matrix.field == Field::integer) {
    for (std::size_t k = 0; k < matrix.values.size(); ++k) {
      const double value = matrix.values[k];
      if (!(std::abs(value) <= static_cast<double>(max_exact_integer)) || value != std::trunc(value)) {
        return std::format("value {} of entry {} is no integer up to 2^53", value, k);
      }
    }
  }
  return {};
}

}  // namespace

std::string_view name_of(Format format) { return format_names[static_cast<std::size_t>(format)]; }

std::string_view name_of(Field field) { return field_names[static_cast<std::size_t>(field)]; }

std::string_view name_of(Symmetry symmetry) { return symmetry_names[static_cast<std::size_t>(symmetry)]; }

Result<Matrix> parse(std::string_view text, std::string_view name, const ReadOptions& options) {
  const Result<Header> header = parse_header(text, name);
  if (!header) return std::unexpected(header.error());

  // The lines are counted first: then each chunk knows its line numbers and its place in the result.
  std::vector<Chunk> chunks = cut(header->end, end_of(text), std::max<std::size_t>(options.chunk_bytes, 1));
  run_in_parallel(chunks.size(), options.thread_count, [&](std::size_t i) {
    count_lines(chunks[i]);
    return true;
  });
  std::uint64_t line_count = header->line_count;
  std::uint64_t entry_count = 0;
  for (Chunk& chunk : chunks) {
    chunk.first_line = line_count + 1;
    chunk.first_entry = entry_count;
    if (chunk.entry_count > header->entry_count - entry_count) {
      return error_at(name, line_of_entry(chunk, header->entry_count - entry_count),
                      std::format("this entry is one more than the {} announced", header->entry_count));
    }
    line_count += chunk.line_count;
    entry_count += chunk.entry_count;
  }
  if (entry_count < header->entry_count) {
    return error_at(name, line_count,
                    std::format("the file ends after {} of {} entries", entry_count, header->entry_count));
  }

  Matrix matrix;
  matrix.row_count = header->row_count;
  matrix.column_count = header->column_count;
  matrix.format = header->format;
  matrix.field = header->field;
  matrix.symmetry = header->symmetry;
  const bool sparse = header->format == Format::coordinate;
  const bool mirrored = sparse && header->symmetry != Symmetry::general && options.mirror;
  const std::uint64_t capacity = mirrored ? 2 * entry_count : entry_count;
  if ((sparse && (!allocate(matrix.rows, entry_count, capacity) || !allocate(matrix.columns, entry_count, capacity))) ||
      (header->field != Field::pattern && !allocate(matrix.values, entry_count, capacity))) {
    return no_memory(name, capacity);
  }

  run_in_parallel(chunks.size(), options.thread_count, [&](std::size_t i) {
    Chunk& chunk = chunks[i];
    const bool integer = header->field == Field::integer;
    if (!sparse) {
      integer ? parse_array<Field::integer>(chunk, matrix.values) : parse_array<Field::real>(chunk, matrix.values);
    } else if (header->field == Field::pattern) {
      parse_coordinates<Field::pattern>(chunk, *header, matrix);
    } else if (integer) {
      parse_coordinates<Field::integer>(chunk, *header, matrix);
    } else {
      parse_coordinates<Field::real>(chunk, *header, matrix);
    }
    return chunk.fault.problem == Problem::none;
  });
  // Chunks are begun in order, so all before the first fault are done.
  std::uint64_t below_line = 0;
  std::uint64_t above_line = 0;
  for (const Chunk& chunk : chunks) {
    if (chunk.fault.problem != Problem::none) return error_at(name, chunk.fault.line, describe(chunk.fault, *header));
    if (below_line == 0) below_line = chunk.below_line;
    if (above_line == 0) above_line = chunk.above_line;
  }
  if (below_line != 0 && above_line != 0) {
    const auto [first, second] = std::minmax(below_line, above_line);
    return error_at(name, second,
                    std::format("this entry is {} the diagonal, line {} has one {} it; a {} file holds one triangle",
                                second == below_line ? "below" : "above", first,
                                second == below_line ? "above" : "below", name_of(header->symmetry)));
  }

  if (mirrored) append_mirrors(chunks, options.thread_count, matrix);
  if (!sparse && header->symmetry != Symmetry::general) {
    if (const auto ok = unpack_triangle(name, matrix); !ok) return std::unexpected(ok.error());
  }
  return matrix;
}

Result<Matrix> read(const std::string& path, const ReadOptions& options) {
  int number = -1;
  do {
    number = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  } while (number < 0 && errno == EINTR);
  if (number < 0) return npy::system_error(path, "cannot open", errno);
  const npy::Descriptor file(number);
  struct stat info{};
  if (fstat(file.number(), &info) != 0) return npy::system_error(path, "cannot open", errno);
  if (S_ISDIR(info.st_mode)) return npy::system_error(path, "cannot read", EISDIR);
  if (!S_ISREG(info.st_mode)) {
    const Result<std::string> text = read_all(file.number(), path);
    if (!text) return std::unexpected(text.error());
    return parse(*text, path, options);
  }
  if (info.st_size == 0) return parse({}, path, options);
  const Mapping mapping(file.number(), static_cast<std::size_t>(info.st_size));
  if (mapping.failed()) return npy::system_error(path, std::format("cannot map {} bytes", info.st_size), errno);
  return parse(mapping.text(), path, options);
}

void add_indices(Matrix& matrix) {
  if (matrix.format != Format::array) return;
  matrix.rows.resize(matrix.values.size());
  matrix.columns.resize(matrix.values.size());
  std::size_t k = 0;
  for (std::uint32_t column = 0; k < matrix.values.size(); ++column) {
    for (std::uint32_t row = 0; row < matrix.row_count; ++row, ++k) {
      matrix.rows[k] = row;
      matrix.columns[k] = column;
    }
  }
}

Result<void> write(const std::string& path, const MatrixView& matrix) {
  if (const std::string fault = fault_of(matrix); !fault.empty()) return npy::file_error(path, fault);
  Result<npy::OutputFile> file = npy::OutputFile::create(path);
  if (!file) return std::unexpected(std::move(file.error()));
  Output output(std::move(*file));
  const bool sparse = matrix.format == Format::coordinate;
  output.add(std::format("{} matrix {} {} {}\n{} {}", banner, name_of(matrix.format), name_of(matrix.field),
                         name_of(matrix.symmetry), matrix.row_count, matrix.column_count));
  if (sparse) output.add(std::format(" {}", matrix.rows.size()));
  if (const auto ok = output.end_line(); !ok) return ok;
  const std::size_t entry_count = sparse ? matrix.rows.size() : matrix.values.size();
  for (std::size_t k = 0; k < entry_count; ++k) {
    if (sparse) {
      output.add_number(std::uint64_t{matrix.rows[k]} + 1);
      output.add(" ");
      output.add_number(std::uint64_t{matrix.columns[k]} + 1);
      if (matrix.field != Field::pattern) output.add(" ");
    }
    if (matrix.field == Field::real) output.add_number(matrix.values[k]);
    if (matrix.field == Field::integer) output.add_number(static_cast<std::int64_t>(matrix.values[k]));
    if (const auto ok = output.end_line(); !ok) return ok;
  }
  return output.commit();
}

}  // namespace upsweep::matrix_market
