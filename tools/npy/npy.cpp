#include "npy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <format>
#include <limits>
#include <type_traits>
#include <utility>

#include "input_file.h"

namespace upsweep::npy {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t version_end = 8;  // of the magic and the two version bytes
constexpr std::uint64_t max_data_size = std::numeric_limits<std::int64_t>::max();  // as NumPy

// NumPy itself refuses headers over 10000 bytes by default; real ones have about 120. This only
// bounds the memory that a damaged file can ask for.
constexpr std::uint64_t max_header_size = std::uint64_t{1} << 20;

constexpr std::size_t header_alignment = 64;                 // NumPy's ARRAY_ALIGN
constexpr std::size_t growth_digits = 21;                    // NumPy's GROWTH_AXIS_MAX_DIGITS
constexpr std::size_t max_read_size = std::size_t{1} << 30;  // Linux reads less than 2 GiB at once

constexpr bool little_endian = std::endian::native == std::endian::little;
static_assert(little_endian || std::endian::native == std::endian::big);

enum class Kind : std::uint8_t { boolean, unsigned_integer, signed_integer, floating };

struct DtypeInfo {
  std::string_view name;
  Kind kind;
  std::size_t size;
  int value_bits;  // integers up to 2^value_bits - 1 are exact, sign not counted
};

constexpr std::array<DtypeInfo, 12> dtype_infos = {{
    {"b1", Kind::boolean, 1, 1},
    {"u1", Kind::unsigned_integer, 1, 8},
    {"u2", Kind::unsigned_integer, 2, 16},
    {"u4", Kind::unsigned_integer, 4, 32},
    {"u8", Kind::unsigned_integer, 8, 64},
    {"i1", Kind::signed_integer, 1, 7},
    {"i2", Kind::signed_integer, 2, 15},
    {"i4", Kind::signed_integer, 4, 31},
    {"i8", Kind::signed_integer, 8, 63},
    {"f2", Kind::floating, 2, 11},
    {"f4", Kind::floating, 4, 24},
    {"f8", Kind::floating, 8, 53},
}};

constexpr const DtypeInfo& info_of(Dtype dtype) { return dtype_infos[static_cast<std::size_t>(dtype)]; }

constexpr bool is_exact(Dtype from, Dtype to) {
  if (from == to) return true;
  const DtypeInfo& a = info_of(from);
  const DtypeInfo& b = info_of(to);
  if (b.kind == Kind::boolean) return false;
  if (a.kind == Kind::signed_integer && b.kind == Kind::unsigned_integer) return false;
  if (a.kind == Kind::floating && b.kind != Kind::floating) return false;
  // An i1 of -128 fits a float of 8 value bits or more, and each one here has at least 11.
  return a.value_bits <= b.value_bits;
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  if (shape.size() == 1) text += ',';
  return text + ')';
}

// The number of items, or nothing when the array is too large to exist. As in NumPy the other
// dimensions count against the limit even when one is zero.
std::optional<std::uint64_t> count_items(std::span<const std::uint64_t> shape, Dtype dtype) {
  const std::uint64_t limit = max_data_size / item_size(dtype);
  std::uint64_t product = 1;
  bool empty = false;
  for (const std::uint64_t dimension : shape) {
    if (dimension == 0) {
      empty = true;
    } else if (dimension > limit / product) {
      return std::nullopt;
    } else {
      product *= dimension;
    }
  }
  return empty ? 0 : product;
}

struct FileDtype {
  Dtype dtype;
  bool swapped;
};

Result<FileDtype> parse_dtype(std::string_view text) {
  std::string_view rest = text;
  char order = '=';
  if (!rest.empty() && std::string_view("<>|=").contains(rest.front())) {
    order = rest.front();
    rest.remove_prefix(1);
  }
  for (std::size_t i = 0; i < dtype_infos.size(); ++i) {
    if (dtype_infos[i].name != rest) continue;
    // '|' (not applicable) before a longer item means this machine's order to NumPy, too.
    const bool foreign = order == (little_endian ? '>' : '<');
    return FileDtype{static_cast<Dtype>(i), foreign && dtype_infos[i].size > 1};
  }
  std::string_view what = "it is no plain number";
  switch (rest.empty() ? '\0' : rest.front()) {
    case 'b':
    case 'u':
    case 'i':
    case 'f': what = "numbers of this size are not"; break;
    case 'c': what = "complex numbers are not"; break;
    case 'S':
    case 'a':
    case 'U': what = "strings are not"; break;
    case 'O': what = "Python objects are not"; break;
    case 'V': what = "raw or structured items are not"; break;
    case 'M':
    case 'm': what = "dates and time spans are not"; break;
    default: break;
  }
  return std::unexpected(std::format("dtype '{}' is not supported; {} (supported: b1, u1 to u8, i1 to i8, f2, f4, f8)",
                                     excerpt(text), what));
}

// The parts of the Python dict literal that a header is.
struct Fields {
  FileDtype dtype;
  bool fortran_order;
  std::vector<std::uint64_t> shape;
};

class DictParser {
 public:
  // Python 2 wrote the dimensions as 3L; NumPy accepts this up to version 2.0.
  DictParser(std::string_view text, bool allow_long_suffix) : text_(text), allow_long_suffix_(allow_long_suffix) {}

  Result<Fields> parse() {
    std::optional<FileDtype> dtype;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::uint64_t>> shape;
    if (!take('{')) return expected("'{'");
    while (!take('}')) {
      const Result<std::string_view> key = parse_string();
      if (!key) return std::unexpected(key.error());
      if (!take(':')) return expected("':'");
      if ((*key == "descr" && dtype) || (*key == "fortran_order" && fortran_order) || (*key == "shape" && shape)) {
        return std::unexpected(std::format("header has two keys '{}'", *key));
      }
      if (*key == "descr") {
        Result<FileDtype> value = parse_descr();
        if (!value) return std::unexpected(std::move(value.error()));
        dtype = *value;
      } else if (*key == "fortran_order") {
        const Result<bool> value = parse_bool();
        if (!value) return std::unexpected(value.error());
        fortran_order = *value;
      } else if (*key == "shape") {
        Result<std::vector<std::uint64_t>> value = parse_shape();
        if (!value) return std::unexpected(std::move(value.error()));
        shape = std::move(*value);
      } else {
        return std::unexpected(std::format("header has an unknown key '{}'", excerpt(*key)));
      }
      if (!take(',') && peek() != '}') return expected("',' or '}'");
    }
    if (peek() != '\0' || position_ < text_.size()) return expected("the end of the header");
    if (!dtype) return std::unexpected(std::string("header has no key 'descr'"));
    if (!fortran_order) return std::unexpected(std::string("header has no key 'fortran_order'"));
    if (!shape) return std::unexpected(std::string("header has no key 'shape'"));
    return Fields{*dtype, *fortran_order, std::move(*shape)};
  }

 private:
  // The next character that is no white space; '\0' at the end.
  char peek() {
    while (position_ < text_.size() && std::string_view(" \t\n\r\f").contains(text_[position_])) {
      ++position_;
    }
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool take(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }

  std::unexpected<std::string> expected(std::string_view what) {
    peek();
    if (position_ == text_.size()) {
      return std::unexpected(std::format("header is damaged: it ends where {} should be", what));
    }
    return std::unexpected(
        std::format("header is damaged: {} should be at '{}'", what, excerpt(text_.substr(position_))));
  }

  // The text between the quotes. Escapes are refused: no key or dtype that we accept needs them.
  Result<std::string_view> parse_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return expected("a string");
    const std::size_t begin = position_ + 1;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) return expected("a string with its closing quote");
    const std::string_view content = text_.substr(begin, end - begin);
    if (content.find_first_of("\\\n\r") != std::string_view::npos) {
      return expected("a string without escapes and line ends");
    }
    position_ = end + 1;
    return content;
  }

  Result<FileDtype> parse_descr() {
    const char c = peek();
    if (c == '[' || c == '(') {
      // Fields or a subarray. To be refused it need not be understood; only the message wants its
      // end, where the brackets are balanced.
      int depth = 0;
      std::size_t end = position_;
      while (end < text_.size()) {
        const char bracket = text_[end++];
        if (bracket == '[' || bracket == '(') ++depth;
        if ((bracket == ']' || bracket == ')') && --depth == 0) break;
      }
      return std::unexpected(
          std::format("dtype '{}' is not supported; structured items are not: save one field as a plain array",
                      excerpt(text_.substr(position_, end - position_))));
    }
    const Result<std::string_view> text = parse_string();
    if (!text) return std::unexpected(text.error());
    return parse_dtype(*text);
  }

  Result<bool> parse_bool() {
    peek();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(position_).starts_with(word)) continue;
      position_ += word.size();
      return value;
    }
    return expected("True or False");
  }

  Result<std::vector<std::uint64_t>> parse_shape() {
    if (!take('(')) return expected("a tuple of dimensions");
    std::vector<std::uint64_t> shape;
    bool comma = true;
    while (!take(')')) {
      if (!comma) return expected("',' or ')'");
      const Result<std::uint64_t> dimension = parse_dimension();
      if (!dimension) return std::unexpected(dimension.error());
      shape.push_back(*dimension);
      comma = take(',');
    }
    if (shape.size() == 1 && !comma) {
      return std::unexpected(
          std::format("header is damaged: shape ({}) is a number, not a tuple such as ({},)", shape[0], shape[0]));
    }
    return shape;
  }

  Result<std::uint64_t> parse_dimension() {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const bool negative = take('-');
    if (!is_digit(peek())) return expected("a dimension");
    const std::size_t begin = position_;
    while (position_ < text_.size() && is_digit(text_[position_])) ++position_;
    const std::string_view digits = text_.substr(begin, position_ - begin);
    if (negative) {
      return std::unexpected(std::format("dimension -{} is negative", excerpt(digits)));
    }
    if (digits.size() > 1 && digits.front() == '0') {
      position_ = begin;
      return expected("a dimension without leading zeros");
    }
    std::uint64_t value = 0;
    for (const char c : digits) {
      const auto digit = static_cast<std::uint64_t>(c - '0');
      if (value > (max_data_size - digit) / 10) {
        return std::unexpected(std::format("dimension {} does not fit in 63 bits", excerpt(digits)));
      }
      value = value * 10 + digit;
    }
    if (allow_long_suffix_ && position_ < text_.size() && text_[position_] == 'L') ++position_;
    return value;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  bool allow_long_suffix_;
};

// Where the dict is, from the magic, the version and the length before it.
struct Preamble {
  int major = 0;
  std::size_t dict_offset = 0;
  std::uint64_t dict_size = 0;
};

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// `start` may be the whole file or only its start, and in that case needs preamble_size bytes. A
// file that ends within them gives an error.
constexpr std::size_t preamble_size = 12;

Result<Preamble> parse_preamble(std::span<const std::byte> start, std::string_view name) {
  if (start.empty()) return file_error(name, "file is empty");
  const std::string_view text = as_text(start);
  const std::string_view found = text.substr(0, magic.size());
  if (!magic.starts_with(found)) {
    if (found.starts_with("PK")) {
      return file_error(name, "is a .npz or .zip archive; unpack it and give one of its .npy files");
    }
    return file_error(name, "is not a .npy file (it does not start with \\x93NUMPY)");
  }
  if (text.size() < version_end) {
    return file_error(
        name, std::format("file is truncated ({} bytes, the shortest start is {})", text.size(), version_end + 2));
  }
  Preamble result;
  result.major = std::to_integer<int>(start[magic.size()]);
  const int minor = std::to_integer<int>(start[magic.size() + 1]);
  if (result.major < 1 || result.major > 3 || minor != 0) {
    return file_error(name,
                      std::format("format version {}.{} is not supported (1.0, 2.0 and 3.0 are)", result.major, minor));
  }
  const std::size_t length_size = result.major == 1 ? 2 : 4;
  result.dict_offset = version_end + length_size;
  if (text.size() < result.dict_offset) {
    return file_error(
        name, std::format("file is truncated ({} bytes, the shortest start is {})", text.size(), result.dict_offset));
  }
  for (std::size_t i = 0; i < length_size; ++i) {
    result.dict_size |= std::to_integer<std::uint64_t>(start[version_end + i]) << (8 * i);
  }
  return result;
}

// `available` is how many bytes of the dict the file has.
Result<void> check_dict_size(const Preamble& preamble, std::uint64_t available, std::string_view name) {
  if (preamble.dict_size > available) {
    return file_error(name, std::format("header is truncated ({} of {} bytes)", available, preamble.dict_size));
  }
  if (preamble.dict_size > max_header_size) {
    return file_error(name, std::format("header of {} bytes is not plausible (the limit is {})", preamble.dict_size,
                                        max_header_size));
  }
  return {};
}

Result<Header> parse_dict(const Preamble& preamble, std::string_view dict, std::string_view name) {
  Result<Fields> fields = DictParser(dict, preamble.major <= 2).parse();
  if (!fields) return file_error(name, fields.error());
  const std::optional<std::uint64_t> items = count_items(fields->shape, fields->dtype.dtype);
  if (!items) {
    return file_error(name, std::format("shape {} of dtype '{}' is too large (over 2^63 - 1 bytes)",
                                        excerpt(shape_text(fields->shape)), dtype_name(fields->dtype.dtype)));
  }
  // With at most one dimension over 1 (or no items) both orders are the same.
  if (fields->fortran_order && *items > 0 &&
      std::ranges::count_if(fields->shape, [](std::uint64_t d) { return d > 1; }) > 1) {
    return file_error(name, std::format("array of shape {} is in Fortran (column-major) order; save "
                                        "numpy.ascontiguousarray(array) instead",
                                        excerpt(shape_text(fields->shape))));
  }
  Header header;
  header.dtype = fields->dtype.dtype;
  header.swapped = fields->dtype.swapped;
  header.fortran_order = fields->fortran_order;
  header.shape = std::move(fields->shape);
  header.item_count = *items;
  header.data_offset = preamble.dict_offset + preamble.dict_size;
  header.data_size = *items * item_size(header.dtype);
  return header;
}

Result<void> check_data_size(const Header& header, std::uint64_t available, std::string_view name) {
  // Bytes behind the data are fine: NumPy ignores them, see Array::trailing_size.
  if (available >= header.data_size) return {};
  return file_error(
      name, std::format("data is truncated: shape {} of dtype '{}' takes {} bytes, the "
                        "file has {}",
                        excerpt(shape_text(header.shape)), dtype_name(header.dtype), header.data_size, available));
}

// Reads until `out` is full or the file ends; gives the number of bytes.
Result<std::size_t> read_fully(int descriptor, std::span<std::byte> out, std::string_view name) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = ::read(descriptor, out.data() + done, std::min(out.size() - done, max_read_size));
    if (count == 0) break;
    if (count < 0) {
      if (errno == EINTR) continue;
      return system_error(name, "cannot read", errno);
    }
    done += static_cast<std::size_t>(count);
  }
  return done;
}

// The unsigned integer that holds an item's bits.
template <Dtype dtype>
using Bits =
    std::conditional_t<info_of(dtype).size == 1, std::uint8_t,
                       std::conditional_t<info_of(dtype).size == 2, std::uint16_t,
                                          std::conditional_t<info_of(dtype).size == 4, std::uint32_t, std::uint64_t>>>;

template <Dtype dtype>
constexpr int mantissa_bits = info_of(dtype).value_bits - 1;

// Done on the bits, so that the result depends neither on flush-to-zero modes nor on what the
// processor does to signalling NaNs.
template <Dtype from, Dtype to>
constexpr Bits<to> widen_float(Bits<from> bits) {
  using To = Bits<to>;
  constexpr int from_mantissa = mantissa_bits<from>;
  constexpr int to_mantissa = mantissa_bits<to>;
  constexpr int from_exponent = static_cast<int>(8 * sizeof bits) - 1 - from_mantissa;
  constexpr int to_exponent = static_cast<int>(8 * sizeof(To)) - 1 - to_mantissa;
  constexpr int from_max = (1 << from_exponent) - 1;
  constexpr int to_max = (1 << to_exponent) - 1;
  constexpr int rebias = to_max / 2 - from_max / 2;
  constexpr To mantissa_mask = (To{1} << from_mantissa) - 1;

  const To sign = static_cast<To>(bits >> (from_exponent + from_mantissa));
  int exponent = static_cast<int>(bits >> from_mantissa) & from_max;
  To mantissa = static_cast<To>(bits) & mantissa_mask;
  if (exponent == from_max) {
    exponent = to_max;
  } else if (exponent != 0) {
    exponent += rebias;
  } else if (mantissa != 0) {
    const int shift = from_mantissa + 1 - std::bit_width(mantissa);
    mantissa = (mantissa << shift) & mantissa_mask;
    exponent = 1 - shift + rebias;
  }
  return (sign << (to_exponent + to_mantissa)) | (static_cast<To>(exponent) << to_mantissa) |
         (mantissa << (to_mantissa - from_mantissa));
}

// For integers of at most 11 bits, which an f2 holds exactly and as normal numbers.
constexpr std::uint16_t half_bits(int value) {
  if (value == 0) return 0;
  const unsigned sign = value < 0 ? 1U : 0U;
  const auto magnitude = static_cast<unsigned>(value < 0 ? -value : value);
  const int exponent = std::bit_width(magnitude) - 1;
  const unsigned mantissa = (magnitude << (10 - exponent)) & 0x3ff;
  return static_cast<std::uint16_t>((sign << 15) | (static_cast<unsigned>(exponent + 15) << 10) | mantissa);
}

template <Dtype from, Dtype to>
constexpr Bits<to> convert(Bits<from> bits) {
  constexpr Kind from_kind = info_of(from).kind;
  if constexpr (from_kind == Kind::floating) {
    return widen_float<from, to>(bits);
  } else {
    const auto value = [&] {
      if constexpr (from_kind == Kind::boolean) {
        return static_cast<std::uint8_t>(bits != 0);
      } else if constexpr (from_kind == Kind::signed_integer) {
        return static_cast<std::make_signed_t<Bits<from>>>(bits);
      } else {
        return bits;
      }
    }();
    if constexpr (to == Dtype::f2) {
      return half_bits(value);
    } else if constexpr (to == Dtype::f4) {
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    } else if constexpr (to == Dtype::f8) {
      return std::bit_cast<std::uint64_t>(static_cast<double>(value));
    } else {
      return static_cast<Bits<to>>(value);
    }
  }
}

using ConvertItems = void (*)(const std::byte* in, bool swapped, std::size_t count, std::byte* out);

template <Dtype from, Dtype to>
void convert_items(const std::byte* in, bool swapped, std::size_t count, std::byte* out) {
  for (std::size_t i = 0; i < count; ++i) {
    Bits<from> bits;
    std::memcpy(&bits, in + i * sizeof bits, sizeof bits);  // may be unaligned
    if (swapped) bits = std::byteswap(bits);
    Bits<to> converted;
    if constexpr (from == to) {
      converted = bits;
    } else {
      converted = convert<from, to>(bits);
    }
    std::memcpy(out + i * sizeof converted, &converted, sizeof converted);
  }
}

template <std::size_t from, std::size_t to>
consteval ConvertItems converter() {
  constexpr auto from_dtype = static_cast<Dtype>(from);
  constexpr auto to_dtype = static_cast<Dtype>(to);
  if constexpr (is_exact(from_dtype, to_dtype)) {
    return &convert_items<from_dtype, to_dtype>;
  } else {
    return nullptr;
  }
}

// Row: file's type, column: target; null where values would be lost.
constexpr auto converters = []<std::size_t... i>(std::index_sequence<i...>) {
  constexpr std::size_t n = dtype_infos.size();
  return std::array<ConvertItems, n * n>{converter<i / n, i % n>()...};
}(std::make_index_sequence<dtype_infos.size() * dtype_infos.size()>{});

}  // namespace

std::size_t item_size(Dtype dtype) { return info_of(dtype).size; }

std::string_view dtype_name(Dtype dtype) { return info_of(dtype).name; }

bool widens_exactly(Dtype from, Dtype to) { return is_exact(from, to); }

Result<Array> Array::from_memory(std::span<const std::byte> file, std::string name) {
  const Result<Preamble> preamble = parse_preamble(file, name);
  if (!preamble) return std::unexpected(preamble.error());
  const std::span<const std::byte> rest = file.subspan(preamble->dict_offset);
  if (const auto ok = check_dict_size(*preamble, rest.size(), name); !ok) {
    return std::unexpected(ok.error());
  }
  const auto dict_size = static_cast<std::size_t>(preamble->dict_size);
  Result<Header> header = parse_dict(*preamble, as_text(rest.first(dict_size)), name);
  if (!header) return std::unexpected(std::move(header.error()));
  const std::span<const std::byte> data = rest.subspan(dict_size);
  if (const auto ok = check_data_size(*header, data.size(), name); !ok) {
    return std::unexpected(ok.error());
  }
  Array array;
  array.name_ = std::move(name);
  array.header_ = std::move(*header);
  array.data_ = data.first(static_cast<std::size_t>(array.header_.data_size));
  array.trailing_size_ = data.size() - array.header_.data_size;
  return array;
}

Result<Array> Array::open(const std::string& path) {
  int number = -1;
  do {
    number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  } while (number < 0 && errno == EINTR);
  if (number < 0) return system_error(path, "cannot open", errno);
  const Descriptor file(number);
  struct stat info{};
  if (fstat(file.number(), &info) != 0) return system_error(path, "cannot open", errno);
  if (S_ISDIR(info.st_mode)) return system_error(path, "cannot read", EISDIR);
  const bool mappable = S_ISREG(info.st_mode);
  const auto file_size = static_cast<std::uint64_t>(mappable ? info.st_size : 0);

  // The first bytes and the dict are read in order, as a pipe cannot go back.
  std::array<std::byte, preamble_size> start{};
  const Result<std::size_t> version_read = read_fully(file.number(), std::span(start).first(version_end), path);
  if (!version_read) return std::unexpected(version_read.error());
  std::size_t start_size = *version_read;
  if (start_size == version_end) {
    const std::size_t length_size = start[magic.size()] == std::byte{1} ? 2 : 4;
    const Result<std::size_t> length_read =
        read_fully(file.number(), std::span(start).subspan(version_end, length_size), path);
    if (!length_read) return std::unexpected(length_read.error());
    start_size += *length_read;
  }
  const Result<Preamble> preamble = parse_preamble(std::span(start).first(start_size), path);
  if (!preamble) return std::unexpected(preamble.error());

  // A pipe's size is unknown: its header only has to be plausible before memory is taken.
  std::uint64_t dict_available = preamble->dict_size;
  if (mappable) {
    dict_available = file_size - std::min<std::uint64_t>(file_size, preamble->dict_offset);
  }
  if (const auto ok = check_dict_size(*preamble, dict_available, path); !ok) {
    return std::unexpected(ok.error());
  }
  std::string dict(static_cast<std::size_t>(preamble->dict_size), '\0');
  const Result<std::size_t> dict_read = read_fully(file.number(), std::as_writable_bytes(std::span(dict)), path);
  if (!dict_read) return std::unexpected(dict_read.error());
  if (const auto ok = check_dict_size(*preamble, *dict_read, path); !ok) {
    return std::unexpected(ok.error());
  }

  Result<Header> header = parse_dict(*preamble, dict, path);
  if (!header) return std::unexpected(std::move(header.error()));

  Array array;
  array.name_ = path;
  array.header_ = std::move(*header);
  const std::uint64_t data_offset = array.header_.data_offset;
  const std::uint64_t data_size = array.header_.data_size;
  if (mappable) {
    const std::uint64_t available = file_size - std::min(file_size, data_offset);
    if (const auto ok = check_data_size(array.header_, available, path); !ok) {
      return std::unexpected(ok.error());
    }
    array.trailing_size_ = available - data_size;
  }
  if (data_size == 0) return array;

  // mmap wants a multiple of the page size as offset: map the header, too.
  const std::uint64_t mapping_offset = mappable ? data_offset : 0;
  const std::uint64_t mapping_size = mapping_offset + data_size;
  if (mapping_size > std::numeric_limits<std::size_t>::max()) {
    return system_error(path, std::format("cannot map {} bytes", data_size), ENOMEM);
  }
  array.mapping_size_ = static_cast<std::size_t>(mapping_size);
  // Memory for a pipe comes from mmap as well: asking for too much is then an error, no exception,
  // and pages that a lying header asks for are never touched.
  void* const mapping =
      mappable ? mmap(nullptr, array.mapping_size_, PROT_READ, MAP_PRIVATE, file.number(), 0)
               : mmap(nullptr, array.mapping_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return system_error(path, std::format("cannot map {} bytes", data_size), errno);
  }
  array.mapping_ = mapping;
  const std::span<std::byte> data = std::span(static_cast<std::byte*>(mapping), array.mapping_size_)
                                        .subspan(static_cast<std::size_t>(mapping_offset));
  array.data_ = data;
  if (mappable) {
    // Only a hint: failure does not matter.
    static_cast<void>(posix_madvise(mapping, array.mapping_size_, POSIX_MADV_SEQUENTIAL));
    return array;
  }
  const Result<std::size_t> data_read = read_fully(file.number(), data, path);
  if (!data_read) return std::unexpected(data_read.error());
  if (const auto ok = check_data_size(array.header_, *data_read, path); !ok) {
    return std::unexpected(ok.error());
  }
  return array;
}

Array::Array(Array&& other) noexcept
    : name_(std::move(other.name_)),
      header_(std::exchange(other.header_, {})),
      data_(std::exchange(other.data_, {})),
      trailing_size_(other.trailing_size_),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_size_(std::exchange(other.mapping_size_, 0)) {}

Array& Array::operator=(Array&& other) noexcept {
  if (this != &other) {
    unmap();
    name_ = std::move(other.name_);
    header_ = std::exchange(other.header_, {});
    data_ = std::exchange(other.data_, {});
    trailing_size_ = other.trailing_size_;
    mapping_ = std::exchange(other.mapping_, nullptr);
    mapping_size_ = std::exchange(other.mapping_size_, 0);
  }
  return *this;
}

Array::~Array() { unmap(); }

void Array::unmap() noexcept {
  if (mapping_ != nullptr) munmap(mapping_, mapping_size_);
  mapping_ = nullptr;
}

std::optional<std::span<const std::byte>> Array::span() const {
  if (header_.swapped) return std::nullopt;
  return data_;
}

Result<void> Array::check_window(std::uint64_t first, std::uint64_t count, std::size_t size, Dtype target) const {
  if (first > header_.item_count || count > header_.item_count - first) {
    return file_error(name_, std::format("window of {} items from item {} reaches past the end ({} "
                                         "items)",
                                         count, first, header_.item_count));
  }
  if (size % item_size(target) != 0 || size / item_size(target) != count) {
    return file_error(name_,
                      std::format("buffer of {} bytes is not {} items of dtype '{}'", size, count, dtype_name(target)));
  }
  return {};
}

Result<void> Array::read(std::uint64_t first, std::uint64_t count, std::span<std::byte> out) const {
  return read_as(first, count, header_.dtype, out);
}

Result<void> Array::read_as(std::uint64_t first, std::uint64_t count, Dtype target, std::span<std::byte> out) const {
  const ConvertItems convert_window =
      converters[static_cast<std::size_t>(header_.dtype) * dtype_infos.size() + static_cast<std::size_t>(target)];
  if (convert_window == nullptr) {
    return file_error(name_, std::format("dtype '{}' cannot become '{}' without losing values",
                                         dtype_name(header_.dtype), dtype_name(target)));
  }
  if (const auto ok = check_window(first, count, out.size(), target); !ok) return ok;
  if (count == 0) return {};
  // In range of std::size_t, as the items are in memory.
  const auto offset = static_cast<std::size_t>(first) * item_size(header_.dtype);
  if (target == header_.dtype && !header_.swapped) {
    std::memcpy(out.data(), data_.data() + offset, out.size());
  } else {
    convert_window(data_.data() + offset, header_.swapped, static_cast<std::size_t>(count), out.data());
  }
  return {};
}

std::string make_header(Dtype dtype, std::span<const std::uint64_t> shape, bool swapped) {
  const char order = item_size(dtype) == 1 ? '|' : little_endian != swapped ? '<' : '>';
  std::string dict = std::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}", order, dtype_name(dtype),
                                 shape_text(shape));
  // NumPy leaves room for the first dimension to grow in place.
  if (!shape.empty()) dict.append(growth_digits - std::to_string(shape[0]).size(), ' ');
  int major = 1;
  std::size_t length_size = 2;
  std::size_t dict_size = 0;
  for (;; ++major, length_size = 4) {
    const std::size_t unpadded = version_end + length_size + dict.size() + 1;
    // 1 to 64 spaces: NumPy adds a full 64 where none are needed.
    dict_size = dict.size() + 1 + header_alignment - unpadded % header_alignment;
    if (major == 2 || dict_size <= 0xffff) break;
  }
  dict.append(dict_size - 1 - dict.size(), ' ');
  dict += '\n';
  std::string header(magic);
  header += static_cast<char>(major);
  header += '\0';
  for (std::size_t i = 0; i < length_size; ++i) {
    header += static_cast<char>((dict_size >> (8 * i)) & 0xff);
  }
  return header + dict;
}

Result<Writer> Writer::create(const std::string& path, Dtype dtype, std::span<const std::uint64_t> shape) {
  const std::optional<std::uint64_t> items = count_items(shape, dtype);
  if (!items) {
    return file_error(path, std::format("shape {} of dtype '{}' is too large (over 2^63 - 1 bytes)",
                                        excerpt(shape_text(shape)), dtype_name(dtype)));
  }
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return std::unexpected(std::move(file.error()));
  const std::string header = make_header(dtype, shape);
  if (const auto ok = file->write(std::as_bytes(std::span(header))); !ok) {
    return std::unexpected(ok.error());
  }
  return Writer(std::move(*file), *items * item_size(dtype));
}

Result<void> Writer::append(std::span<const std::byte> bytes) {
  if (bytes.size() > remaining_) {
    return file_error(file_.path(), std::format("{} bytes do not fit, the shape leaves room for {} of "
                                                "{}",
                                                bytes.size(), remaining_, size_));
  }
  if (const auto ok = file_.write(bytes); !ok) return ok;
  remaining_ -= bytes.size();
  return {};
}

Result<void> Writer::commit() {
  if (remaining_ > 0) {
    return file_error(file_.path(), std::format("array is incomplete ({} of {} bytes)", size_ - remaining_, size_));
  }
  return file_.commit();
}

Result<void> write(const std::string& path, Dtype dtype, std::span<const std::uint64_t> shape,
                   std::span<const std::byte> bytes) {
  const std::optional<std::uint64_t> items = count_items(shape, dtype);
  // An impossible shape is left to create(), which says so.
  if (items && *items * item_size(dtype) != bytes.size()) {
    return file_error(path,
                      std::format("shape {} of dtype '{}' takes {} bytes, {} were given", excerpt(shape_text(shape)),
                                  dtype_name(dtype), *items * item_size(dtype), bytes.size()));
  }
  Result<Writer> writer = Writer::create(path, dtype, shape);
  if (!writer) return std::unexpected(std::move(writer.error()));
  if (const auto ok = writer->append(bytes); !ok) return ok;
  return writer->commit();
}

}  // namespace upsweep::npy
