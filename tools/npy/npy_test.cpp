#include "npy.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using upsweep::npy::Array;
using upsweep::npy::Dtype;
using upsweep::npy::make_header;
using upsweep::npy::Writer;
using Shape = std::vector<std::uint64_t>;

constexpr bool little_endian = std::endian::native == std::endian::little;

// The bytes of a file with the given dict as it is, not padded.
std::string npy(std::string_view dict, std::string_view data = "", int major = 1, int minor = 0) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += static_cast<char>(minor);
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    file += static_cast<char>((dict.size() >> (8 * i)) & 0xff);
  }
  return file.append(dict).append(data);
}

std::string dict(std::string_view descr, std::string_view shape, bool fortran = false) {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + std::string(shape) + ", }\n";
}

// `values` as the bytes of a file, least significant first unless `big`.
template <class T>
std::string packed(const std::vector<T>& values, bool big = false) {
  std::string text;
  for (const T value : values) {
    std::array<char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &value, sizeof value);
    if (big == little_endian) std::ranges::reverse(bytes);
    text.append(bytes.data(), bytes.size());
  }
  return text;
}

upsweep::npy::Result<Array> parse(std::string_view file) {
  return Array::from_memory(std::as_bytes(std::span(file)), "data.npy");
}

std::string error_of(std::string_view file) {
  const auto array = parse(file);
  return array ? "no error" : array.error();
}

template <class T>
std::vector<T> items(const Array& array, std::uint64_t first, std::uint64_t count, Dtype dtype) {
  std::vector<T> out(static_cast<std::size_t>(count));
  const auto ok = array.read_as(first, count, dtype, std::as_writable_bytes(std::span(out)));
  EXPECT_TRUE(ok) << ok.error();
  return out;
}

template <class T>
std::vector<T> all_items(std::string_view file, Dtype dtype) {
  const auto array = parse(file);
  EXPECT_TRUE(array) << array.error();
  return array ? items<T>(*array, 0, array->item_count(), dtype) : std::vector<T>{};
}

Shape shape_of(std::string_view file) {
  const auto array = parse(file);
  EXPECT_TRUE(array) << array.error();
  return array ? Shape(array->shape().begin(), array->shape().end()) : Shape{99};
}

constexpr std::string_view names[] = {"b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"};

// ---- The start of the file ----

TEST(NpyReader, ReadsAVersionOneFile) {
  const std::string file = npy(dict("<u4", "(2, 3)"), packed<std::uint32_t>({1, 2, 3, 4, 5, 6}));
  const auto array = parse(file);
  ASSERT_TRUE(array) << array.error();
  EXPECT_EQ(array->dtype(), Dtype::u4);
  EXPECT_EQ(Shape(array->shape().begin(), array->shape().end()), (Shape{2, 3}));
  EXPECT_EQ(array->item_count(), 6U);
  EXPECT_EQ(array->trailing_size(), 0U);
  EXPECT_EQ(array->name(), "data.npy");
  EXPECT_EQ(items<std::uint32_t>(*array, 1, 4, Dtype::u4), (std::vector<std::uint32_t>{2, 3, 4, 5}));
}

TEST(NpyReader, ReadsVersionsTwoAndThreeWithTheirFourByteLength) {
  for (const int major : {2, 3}) {
    const std::string padded = std::string(70000, ' ') + dict("<i2", "(1,)");
    EXPECT_EQ(all_items<std::int16_t>(npy(padded, packed<std::int16_t>({-7}), major), Dtype::i2),
              std::vector<std::int16_t>{-7});
  }
}

TEST(NpyReader, RefusesOtherVersions) {
  for (const auto& [major, minor] : {std::pair{0, 0}, {1, 1}, {2, 1}, {4, 0}, {255, 255}}) {
    EXPECT_EQ(error_of(npy(dict("<u4", "()"), "1234", major, minor)),
              "data.npy: format version " + std::to_string(major) + "." + std::to_string(minor) +
                  " is not supported (1.0, 2.0 and 3.0 are)");
  }
}

TEST(NpyReader, RefusesAnEmptyFile) { EXPECT_EQ(error_of(""), "data.npy: file is empty"); }

TEST(NpyReader, RefusesATruncatedMagicVersionOrLength) {
  const std::string file = npy(dict("<u4", "()"), "1234", 2);
  for (std::size_t size = 1; size < 12; ++size) {
    EXPECT_EQ(error_of(file.substr(0, size)), "data.npy: file is truncated (" + std::to_string(size) +
                                                  " bytes, the shortest start is " + (size < 8 ? "10)" : "12)"));
  }
}

TEST(NpyReader, RefusesAFileOfAnotherKind) {
  EXPECT_EQ(error_of("1,2,3\n"), "data.npy: is not a .npy file (it does not start with \\x93NUMPY)");
  EXPECT_EQ(error_of("\x93NUMPX\x01"), "data.npy: is not a .npy file (it does not start with \\x93NUMPY)");
  EXPECT_EQ(error_of("PK\x03\x04"), "data.npy: is a .npz or .zip archive; unpack it and give one of its .npy files");
}

TEST(NpyReader, RefusesATruncatedHeader) {
  const std::string file = make_header(Dtype::f4, Shape{5});
  EXPECT_EQ(error_of(file.substr(0, 30)), "data.npy: header is truncated (20 of 118 bytes)");
}

TEST(NpyReader, RefusesAHeaderLongerThanTheFile) {
  std::string file = npy(dict("<u4", "()"), "1234", 2);
  file.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(error_of(file),
            "data.npy: header is truncated (" + std::to_string(file.size() - 12) + " of 4294967295 bytes)");
}

TEST(NpyReader, RefusesAHeaderOfImplausibleLength) {
  const std::string file = npy(dict("<u4", "()") + std::string(1 << 20, ' '), "1234", 2);
  EXPECT_NE(error_of(file).find("is not plausible (the limit is 1048576)"), std::string::npos);
}

// ---- The dict ----

TEST(NpyReader, AcceptsAnyKeyOrderQuotesAndWhiteSpace) {
  for (const char* const text : {
           "{'shape': (1,), 'fortran_order': False, 'descr': '<u4'}",
           "{\"descr\":\"<u4\",\"fortran_order\":False,\"shape\":(1,)}",
           " \t{ 'descr' :\n'<u4' ,\r\n'shape'\f:( 1 , ) , \"fortran_order\" : False , } \n\n",
           "{'descr':'<u4','shape':(1L,),'fortran_order':False}",
       }) {
    EXPECT_EQ(all_items<std::uint32_t>(npy(text, packed<std::uint32_t>({9})), Dtype::u4), std::vector<std::uint32_t>{9})
        << text;
  }
}

TEST(NpyReader, AcceptsShapesWithAndWithoutTrailingCommas) {
  EXPECT_EQ(shape_of(npy(dict("|u1", "()"), "1")), Shape{});
  EXPECT_EQ(shape_of(npy(dict("|u1", "( )"), "1")), Shape{});
  EXPECT_EQ(shape_of(npy(dict("|u1", "(5,)"), "12345")), Shape{5});
  EXPECT_EQ(shape_of(npy(dict("|u1", "(3,2)"), "123456")), (Shape{3, 2}));
  EXPECT_EQ(shape_of(npy(dict("|u1", "(3, 2, )"), "123456")), (Shape{3, 2}));
  EXPECT_EQ(shape_of(npy(dict("|u1", "(1,1,1,2,1)"), "12")), (Shape{1, 1, 1, 2, 1}));
}

TEST(NpyReader, RefusesAMissingKey) {
  EXPECT_EQ(error_of(npy("{}")), "data.npy: header has no key 'descr'");
  EXPECT_EQ(error_of(npy("{'descr': '<u4', 'shape': ()}")), "data.npy: header has no key 'fortran_order'");
  EXPECT_EQ(error_of(npy("{'descr': '<u4', 'fortran_order': False}")), "data.npy: header has no key 'shape'");
}

TEST(NpyReader, RefusesAnUnknownOrRepeatedKey) {
  EXPECT_EQ(error_of(npy("{'descr': '<u4', 'extra\x01': 1}")), "data.npy: header has an unknown key 'extra?'");
  EXPECT_EQ(error_of(npy("{'descr': '<u4', 'descr': '<u4'}")), "data.npy: header has two keys 'descr'");
}

TEST(NpyReader, RefusesADamagedDict) {
  for (const std::string& text : std::vector<std::string>{
           "",
           " ",
           "[]",
           "{",
           "{,}",
           "{'descr'",
           "{'descr",
           "{'descr\n': '<u4'}",
           "{'des\\x63r': '<u4'}",
           "{descr: '<u4'}",
           "{'descr' '<u4'}",
           "{'descr': <u4}",
           "{'descr': 4}",
           "{'descr': '<u4' 'shape': ()}",
           "{'fortran_order': false}",
           "{'fortran_order': 1}",
           "{'fortran_order': Truest}",
           "{'shape': 5}",
           "{'shape': [5]}",
           "{'shape': (5)}",
           "{'shape': (,)}",
           "{'shape': (5,,)}",
           "{'shape': (5 6)}",
           "{'shape': (5,",
           "{'shape': (5.0,)}",
           "{'shape': (05,)}",
           "{'shape': (0x5,)}",
           "{'shape': (+5,)}",
           "{'shape': (True,)}",
           dict("<u4", "(1,)") + "x",
           dict("<u4", "(1,)") + '\0',
           dict("<u4", "(1,)") + "}",
       }) {
    EXPECT_TRUE(error_of(npy(text, "1234")).starts_with("data.npy: header is damaged: "))
        << text << ": " << error_of(npy(text, "1234"));
  }
  EXPECT_EQ(error_of(npy("{'shape': (5)}")),
            "data.npy: header is damaged: shape (5) is a number, not a tuple such as (5,)");
  EXPECT_EQ(error_of(npy("{'descr' 1}")), "data.npy: header is damaged: ':' should be at '1}'");
}

TEST(NpyReader, RefusesAPythonTwoLongInVersionThree) {
  EXPECT_EQ(error_of(npy(dict("|u1", "(1L,)"), "1", 3)),
            "data.npy: header is damaged: ',' or ')' should be at 'L,), }?'");
}

TEST(NpyReader, RefusesANegativeDimension) {
  EXPECT_EQ(error_of(npy(dict("<u4", "(2, -3)"))), "data.npy: dimension -3 is negative");
}

TEST(NpyReader, RefusesADimensionOver63Bits) {
  EXPECT_EQ(error_of(npy(dict("|u1", "(9223372036854775808,)"))),
            "data.npy: dimension 9223372036854775808 does not fit in 63 bits");
  EXPECT_NE(error_of(npy(dict("|u1", "(" + std::string(500, '9') + ",)"))).find("63 bits"), std::string::npos);
}

TEST(NpyReader, RefusesAShapeWhoseProductOverflows) {
  for (const char* const shape : {"(4294967296, 4294967296)", "(9223372036854775807, 2)", "(2305843009213693952,)",
                                  "(3, 9223372036854775807, 9223372036854775807)",
                                  // As NumPy: a zero does not hide it.
                                  "(0, 2305843009213693952)", "(4611686018427387904, 0, 4611686018427387904)"}) {
    const std::string error = error_of(npy(dict("<u4", shape)));
    EXPECT_TRUE(error.starts_with("data.npy: shape (")) << error;
    EXPECT_TRUE(error.ends_with("is too large (over 2^63 - 1 bytes)")) << error;
  }
  EXPECT_EQ(shape_of(npy(dict("<u4", "(0, 2305843009213693951)"))), (Shape{0, 2305843009213693951}));
}

// ---- Types ----

TEST(NpyReader, ReadsEveryTypeInEveryByteOrder) {
  const std::string bytes = "\x01\x02\x03\x04\x05\x06\x07\x08";
  for (const char order : {'<', '>', '|', '=', ' '}) {
    for (std::size_t i = 0; i < std::size(names); ++i) {
      const auto dtype = static_cast<Dtype>(i);
      const std::size_t size = item_size(dtype);
      const std::string descr = (order == ' ' ? "" : std::string(1, order)) + std::string(names[i]);
      const std::string file = npy(dict(descr, "(1,)"), bytes.substr(0, size));
      const auto array = parse(file);
      ASSERT_TRUE(array) << array.error();
      EXPECT_EQ(array->dtype(), dtype);
      EXPECT_EQ(dtype_name(dtype), names[i]);
      const bool swapped = size > 1 && order == (little_endian ? '>' : '<');
      EXPECT_EQ(array->header().swapped, swapped) << descr;
      EXPECT_EQ(array->span().has_value(), !swapped);
      std::string out(size, '\0');
      ASSERT_TRUE(array->read(0, 1, std::as_writable_bytes(std::span(out))));
      std::string expected = bytes.substr(0, size);
      if (swapped) std::ranges::reverse(expected);
      EXPECT_EQ(out, expected) << descr;
    }
  }
}

TEST(NpyReader, RefusesOtherTypesByName) {
  const auto refusal = [](std::string_view descr, std::string_view why) {
    return "data.npy: dtype '" + std::string(descr) + "' is not supported; " + std::string(why) +
           " (supported: b1, u1 to u8, i1 to i8, f2, f4, f8)";
  };
  for (const auto& [descr, why] : std::vector<std::pair<std::string, std::string>>{
           {"<c8", "complex numbers are not"},
           {"<U5", "strings are not"},
           {"|S5", "strings are not"},
           {"|O", "Python objects are not"},
           {"|V8", "raw or structured items are not"},
           {"<M8[s]", "dates and time spans are not"},
           {"<f16", "numbers of this size are not"},
           {"<u3", "numbers of this size are not"},
           {"<i", "numbers of this size are not"},
           {"!u4", "it is no plain number"},
           {"<", "it is no plain number"},
           {"", "it is no plain number"},
       }) {
    EXPECT_EQ(error_of(npy(dict(descr, "(1,)"))), refusal(descr, why));
  }
  EXPECT_EQ(error_of(npy("{'descr': [('x', '<f4')], 'shape': ()}")),
            "data.npy: dtype '[('x', '<f4')]' is not supported; structured items are not: save one "
            "field as a plain array");
  EXPECT_NE(error_of(npy("{'descr': ('<f4', (2,)), 'shape': ()}")).find("structured"), std::string::npos);
}

// ---- Data ----

TEST(NpyReader, RefusesTruncatedDataAndSaysBothSizes) {
  EXPECT_EQ(error_of(npy(dict("<u4", "(2, 3)"), std::string(23, 'x'))),
            "data.npy: data is truncated: shape (2, 3) of dtype 'u4' takes 24 bytes, the file has "
            "23");
  EXPECT_EQ(error_of(npy(dict("<u4", "()"))),
            "data.npy: data is truncated: shape () of dtype 'u4' takes 4 bytes, the file has 0");
}

TEST(NpyReader, IgnoresBytesBehindTheDataAsNumPyDoes) {
  const std::string file = npy(dict("|u1", "(2,)"), "12rest");
  const auto array = parse(file);
  ASSERT_TRUE(array) << array.error();
  EXPECT_EQ(array->trailing_size(), 4U);
  EXPECT_EQ(array->span()->size(), 2U);
}

TEST(NpyReader, ReadsArraysWithoutItems) {
  for (const char* const shape : {"(0,)", "(3, 0)", "(0, 0, 7)"}) {
    const std::string file = npy(dict(">f8", shape, true));
    const auto array = parse(file);
    ASSERT_TRUE(array) << array.error();
    EXPECT_EQ(array->item_count(), 0U);
    EXPECT_TRUE(array->read(0, 0, {}));
    EXPECT_TRUE(array->read_as(0, 0, Dtype::f8, {}));
    std::byte one[8];
    EXPECT_FALSE(array->read(0, 1, one));
  }
}

TEST(NpyReader, ReadsAnArrayWithoutDimensionsAsOneItem) {
  EXPECT_EQ(all_items<std::int64_t>(npy(dict("<i8", "()"), packed<std::int64_t>({-5})), Dtype::i8),
            std::vector<std::int64_t>{-5});
}

TEST(NpyReader, RefusesFortranOrderWhereItMatters) {
  EXPECT_EQ(error_of(npy(dict("|u1", "(2, 1, 3)", true), "123456")),
            "data.npy: array of shape (2, 1, 3) is in Fortran (column-major) order; save "
            "numpy.ascontiguousarray(array) instead");
}

TEST(NpyReader, AcceptsFortranOrderWhereItIsTheSame) {
  EXPECT_EQ(shape_of(npy(dict("|u1", "(3,)", true), "123")), Shape{3});
  EXPECT_EQ(shape_of(npy(dict("|u1", "()", true), "1")), Shape{});
  EXPECT_EQ(shape_of(npy(dict("|u1", "(1, 3, 1)", true), "123")), (Shape{1, 3, 1}));
  EXPECT_EQ(shape_of(npy(dict("|u1", "(2, 3, 0)", true))), (Shape{2, 3, 0}));
}

TEST(NpyReader, RefusesAWindowAcrossTheEnd) {
  const std::string file = npy(dict("|u1", "(10,)"), "0123456789");
  const auto array = parse(file);
  ASSERT_TRUE(array);
  std::array<std::byte, 10> out{};
  EXPECT_TRUE(array->read(0, 10, out));
  EXPECT_TRUE(array->read(10, 0, {}));
  EXPECT_EQ(array->read(1, 10, out).error(),
            "data.npy: window of 10 items from item 1 reaches past the end (10 items)");
  EXPECT_FALSE(array->read(11, 0, {}));
  constexpr std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(array->read(max, 2, std::span(out).first(2)));
  EXPECT_FALSE(array->read(2, max, std::span(out).first(2)));
}

TEST(NpyReader, RefusesABufferOfAnotherSizeThanTheWindow) {
  const std::string file = npy(dict("<u2", "(2,)"), "0123");
  const auto array = parse(file);
  ASSERT_TRUE(array);
  std::array<std::byte, 9> out{};
  for (const std::size_t size : {0UZ, 2UZ, 3UZ, 5UZ, 6UZ}) {
    EXPECT_EQ(array->read(0, 2, std::span(out).first(size)).error(),
              "data.npy: buffer of " + std::to_string(size) + " bytes is not 2 items of dtype 'u2'");
  }
  EXPECT_FALSE(array->read_as(0, 2, Dtype::u4, std::span(out).first(4)));
  EXPECT_TRUE(array->read_as(0, 2, Dtype::u4, std::span(out).first(8)));
}

// ---- Widening ----

TEST(NpyReader, AllowsExactlyTheConversionsThatLoseNothing) {
  // Row: from, column: to, in the order of `names`.
  constexpr std::string_view table[] = {
      "111111111111",  // b1
      "011110111111",  // u1
      "001110011011",  // u2
      "000110001001",  // u4
      "000010000000",  // u8
      "000001111111",  // i1
      "000000111011",  // i2
      "000000011001",  // i4
      "000000001000",  // i8
      "000000000111",  // f2
      "000000000011",  // f4
      "000000000001",  // f8
  };
  for (std::size_t from = 0; from < 12; ++from) {
    const std::string file = npy(dict("<" + std::string(names[from]), "(1,)"), std::string(8, 0));
    const auto array = parse(file);
    ASSERT_TRUE(array) << array.error();
    for (std::size_t to = 0; to < 12; ++to) {
      const auto target = static_cast<Dtype>(to);
      const bool exact = table[from][to] == '1';
      EXPECT_EQ(widens_exactly(array->dtype(), target), exact) << names[from] << names[to];
      std::array<std::byte, 8> out{};
      const auto ok = array->read_as(0, 1, target, std::span(out).first(item_size(target)));
      EXPECT_EQ(ok.has_value(), exact);
      if (!exact) {
        EXPECT_EQ(ok.error(), "data.npy: dtype '" + std::string(names[from]) + "' cannot become '" +
                                  std::string(names[to]) + "' without losing values");
      }
    }
  }
}

template <class From, class To>
void expect_widened(std::string_view from, Dtype to, const std::vector<From>& values) {
  std::vector<To> expected;
  for (const From value : values) expected.push_back(static_cast<To>(value));
  const std::string shape = "(" + std::to_string(values.size()) + ",)";
  for (const bool big : {false, true}) {
    const std::string descr = (big ? ">" : "<") + std::string(from);
    EXPECT_EQ(all_items<To>(npy(dict(descr, shape), packed(values, big)), to), expected) << descr;
  }
}

template <class T>
std::vector<T> extremes() {
  using Limits = std::numeric_limits<T>;
  return {Limits::min(), static_cast<T>(Limits::min() + 1), 0, 1, 100, static_cast<T>(Limits::max() - 1),
          Limits::max()};
}

TEST(NpyReader, WidensIntegersKeepingValueAndSign) {
  expect_widened<std::uint8_t, std::uint16_t>("u1", Dtype::u2, extremes<std::uint8_t>());
  expect_widened<std::uint8_t, std::uint32_t>("u1", Dtype::u4, extremes<std::uint8_t>());
  expect_widened<std::uint8_t, std::int16_t>("u1", Dtype::i2, extremes<std::uint8_t>());
  expect_widened<std::uint8_t, std::int32_t>("u1", Dtype::i4, extremes<std::uint8_t>());
  expect_widened<std::uint16_t, std::uint32_t>("u2", Dtype::u4, extremes<std::uint16_t>());
  expect_widened<std::uint16_t, std::int32_t>("u2", Dtype::i4, extremes<std::uint16_t>());
  expect_widened<std::uint32_t, std::uint64_t>("u4", Dtype::u8, extremes<std::uint32_t>());
  expect_widened<std::uint32_t, std::int64_t>("u4", Dtype::i8, extremes<std::uint32_t>());
  expect_widened<std::int8_t, std::int16_t>("i1", Dtype::i2, extremes<std::int8_t>());
  expect_widened<std::int8_t, std::int32_t>("i1", Dtype::i4, extremes<std::int8_t>());
  expect_widened<std::int16_t, std::int32_t>("i2", Dtype::i4, extremes<std::int16_t>());
  expect_widened<std::int32_t, std::int64_t>("i4", Dtype::i8, extremes<std::int32_t>());
}

TEST(NpyReader, ConvertsIntegersToFloatsExactly) {
  expect_widened<std::uint8_t, float>("u1", Dtype::f4, extremes<std::uint8_t>());
  expect_widened<std::int8_t, float>("i1", Dtype::f4, extremes<std::int8_t>());
  expect_widened<std::uint16_t, float>("u2", Dtype::f4, extremes<std::uint16_t>());
  expect_widened<std::int16_t, float>("i2", Dtype::f4, extremes<std::int16_t>());
  expect_widened<std::uint32_t, double>("u4", Dtype::f8, extremes<std::uint32_t>());
  expect_widened<std::int32_t, double>("i4", Dtype::f8, extremes<std::int32_t>());
}

TEST(NpyReader, ConvertsSmallIntegersToHalfFloats) {
  EXPECT_EQ(all_items<std::uint16_t>(npy(dict("|u1", "(5,)"), packed<std::uint8_t>({0, 1, 2, 3, 255})), Dtype::f2),
            (std::vector<std::uint16_t>{0, 0x3c00, 0x4000, 0x4200, 0x5bf8}));
  EXPECT_EQ(all_items<std::uint16_t>(npy(dict("|i1", "(4,)"), packed<std::int8_t>({-128, -1, 1, 127})), Dtype::f2),
            (std::vector<std::uint16_t>{0xd800, 0xbc00, 0x3c00, 0x57f0}));
}

TEST(NpyReader, WidensABoolToZeroOrOne) {
  const std::string file = npy(dict("|b1", "(4,)"), packed<std::uint8_t>({0, 1, 2, 255}));
  EXPECT_EQ(all_items<std::uint32_t>(file, Dtype::u4), (std::vector<std::uint32_t>{0, 1, 1, 1}));
  EXPECT_EQ(all_items<std::uint8_t>(file, Dtype::u1), (std::vector<std::uint8_t>{0, 1, 1, 1}));
  EXPECT_EQ(all_items<float>(file, Dtype::f4), (std::vector<float>{0, 1, 1, 1}));
  EXPECT_EQ(all_items<std::uint8_t>(file, Dtype::b1), (std::vector<std::uint8_t>{0, 1, 2, 255}));
}

// The value of half float bits, by the definition of the format; not for infinities and NaN.
double half_value(std::uint32_t bits) {
  const int exponent = static_cast<int>((bits >> 10) & 31);
  const double fraction = bits & 0x3ff;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(NpyReader, WidensEachOfThe65536HalfFloatsExactly) {
  std::vector<std::uint16_t> values(65536);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i);
  for (const bool big : {false, true}) {
    const std::string file = npy(dict(big ? ">f2" : "<f2", "(65536,)"), packed(values, big));
    const auto singles = all_items<std::uint32_t>(file, Dtype::f4);
    const auto doubles = all_items<std::uint64_t>(file, Dtype::f8);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      std::uint32_t single = 0;
      std::uint64_t wide = 0;
      if ((bits & 0x7c00) == 0x7c00) {  // infinity or NaN: same sign and payload
        single = ((bits & 0x8000) << 16) | 0x7f800000 | ((bits & 0x3ff) << 13);
        wide = (std::uint64_t{bits & 0x8000} << 48) | 0x7ff0000000000000 | (std::uint64_t{bits & 0x3ff} << 42);
      } else {
        single = std::bit_cast<std::uint32_t>(static_cast<float>(half_value(bits)));
        wide = std::bit_cast<std::uint64_t>(half_value(bits));
      }
      ASSERT_EQ(singles[bits], single) << bits;
      ASSERT_EQ(doubles[bits], wide) << bits;
    }
  }
}

TEST(NpyReader, WidensSingleFloatsExactly) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> values = {0.0F,
                                     -0.0F,
                                     1.0F,
                                     -0.1F,
                                     Limits::min(),
                                     Limits::max(),
                                     Limits::lowest(),
                                     Limits::denorm_min(),
                                     -Limits::denorm_min(),
                                     Limits::min() - Limits::denorm_min(),
                                     Limits::infinity(),
                                     -Limits::infinity()};
  std::vector<std::uint64_t> expected;
  for (const float value : values) {
    expected.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  }
  EXPECT_EQ(all_items<std::uint64_t>(npy(dict("<f4", "(12,)"), packed(values)), Dtype::f8), expected);
  EXPECT_EQ(
      all_items<std::uint64_t>(npy(dict("<f4", "(2,)"), packed<std::uint32_t>({0x7f800001, 0xffc00003})), Dtype::f8),
      (std::vector<std::uint64_t>{0x7ff0000020000000, 0xfff8000060000000}));
}

TEST(NpyReader, WidensAWindow) {
  const std::string file = npy(dict(">i2", "(4,)"), packed<std::int16_t>({1, -2, 3, -4}, true));
  const auto array = parse(file);
  ASSERT_TRUE(array);
  EXPECT_EQ(items<std::int32_t>(*array, 1, 2, Dtype::i4), (std::vector<std::int32_t>{-2, 3}));
  EXPECT_EQ(array->read_as(3, 2, Dtype::i4, {}).error(),
            "data.npy: window of 2 items from item 3 reaches past the end (4 items)");
}

// ---- Files ----

class NpyFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/npy_test.XXXXXX";
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
    return static_cast<std::size_t>(std::ranges::distance(fs::directory_iterator(folder_)));
  }

  fs::path folder_;
};

TEST_F(NpyFile, ReadsAMappedFileInWindows) {
  std::vector<std::uint32_t> values(10000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * i);
  auto array = Array::open(put("a.npy", npy(dict("<u4", "(100, 100)"), packed(values) + "more")));
  ASSERT_TRUE(array) << array.error();
  EXPECT_EQ(array->trailing_size(), 4U);
  Array moved = std::move(*array);
  std::vector<std::uint32_t> joined;
  for (std::uint64_t first = 0; first < moved.item_count();) {
    const std::uint64_t count = std::min<std::uint64_t>(777, moved.item_count() - first);
    joined.append_range(items<std::uint32_t>(moved, first, count, Dtype::u4));
    first += count;
  }
  EXPECT_EQ(joined, values);
  if (little_endian) {
    ASSERT_TRUE(moved.span());
    EXPECT_EQ(std::memcmp(moved.span()->data(), values.data(), moved.span()->size()), 0);
  }
  auto other = Array::open(put("b.npy", npy(dict("|u1", "(1,)"), "7")));
  ASSERT_TRUE(other);
  moved = std::move(*other);
  EXPECT_EQ(items<std::uint8_t>(moved, 0, 1, Dtype::u1), std::vector<std::uint8_t>{'7'});
}

TEST_F(NpyFile, GivesTheSameErrorsAsForMemory) {
  const std::string full = npy(dict("<u4", "(2,)"), "12345678", 2);
  for (std::size_t size = 0; size < full.size(); ++size) {
    const std::string file = put("data.npy", full.substr(0, size));
    const auto array = Array::open(file);
    ASSERT_FALSE(array);
    EXPECT_EQ(array.error(), path("") + error_of(full.substr(0, size)));
  }
  std::string long_header = full;
  long_header.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_NE(Array::open(put("data.npy", long_header)).error().find("of 4294967295 bytes"), std::string::npos);
}

TEST_F(NpyFile, OpensAnArrayWithoutItems) {
  const auto array = Array::open(put("a.npy", npy(dict("<f4", "(0,)"))));
  ASSERT_TRUE(array) << array.error();
  EXPECT_EQ(array->item_count(), 0U);
  EXPECT_TRUE(array->span()->empty());
}

TEST_F(NpyFile, RefusesAMissingFileAndADirectory) {
  EXPECT_EQ(Array::open(path("no.npy")).error(), path("no.npy") + ": cannot open: No such file or directory");
  EXPECT_EQ(Array::open(folder_.string()).error(), folder_.string() + ": cannot read: Is a directory");
}

// Opens the read end of a pipe that holds `text`, by its name.
upsweep::npy::Result<Array> open_pipe(std::string_view text) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  auto array = Array::open("/dev/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  return array;
}

TEST_F(NpyFile, ReadsAPipeIntoMemory) {
  for (const int major : {1, 2}) {
    const auto array = open_pipe(npy(dict(">u2", "(3,)"), packed<std::uint16_t>({1, 2, 300}, true) + "x", major));
    ASSERT_TRUE(array) << array.error();
    EXPECT_EQ(items<std::uint32_t>(*array, 0, 3, Dtype::u4), (std::vector<std::uint32_t>{1, 2, 300}));
    EXPECT_EQ(array->trailing_size(), 0U);
  }
}

TEST_F(NpyFile, RefusesAPipeThatEndsEarly) {
  const std::string full = npy(dict("<u4", "(2,)"), "12345678");
  for (std::size_t size = 0; size < full.size(); ++size) {
    const auto array = open_pipe(full.substr(0, size));
    ASSERT_FALSE(array);
    const std::string text = error_of(full.substr(0, size));
    EXPECT_TRUE(array.error().ends_with(text.substr(text.find(':')))) << array.error();
  }
  const auto array = open_pipe(npy(dict("|u1", "(9223372036854775807,)"), "1"));
  ASSERT_FALSE(array);
  EXPECT_TRUE(array.error().ends_with("cannot map 9223372036854775807 bytes: Cannot allocate memory")) << array.error();
  EXPECT_EQ(Array::open("/dev/zero").error(), "/dev/zero: is not a .npy file (it does not start with \\x93NUMPY)");
}

// ---- Writing ----

TEST(NpyHeader, IsWhatNumPyWrites) {
  const std::string order = little_endian ? "<" : ">";
  const std::string dict = "{'descr': '" + order + "f4', 'fortran_order': False, 'shape': (3, 4), }";
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += dict;
  expected += std::string(118 - dict.size() - 1, ' ') + '\n';
  EXPECT_EQ(make_header(Dtype::f4, Shape{3, 4}), expected);
  EXPECT_NE(make_header(Dtype::u4, Shape{7}, true).find(little_endian ? "'>u4'" : "'<u4'"), std::string::npos);
  EXPECT_NE(make_header(Dtype::u1, Shape{7}, true).find("'|u1'"), std::string::npos);
  EXPECT_NE(make_header(Dtype::u1, Shape{}).find("'|u1', 'fortran_order': False, 'shape': (), }"), std::string::npos);
  EXPECT_NE(make_header(Dtype::b1, Shape{7}).find("'|b1', 'fortran_order': False, 'shape': (7,), }"),
            std::string::npos);
}

TEST(NpyHeader, IsAlignedForAnyShape) {
  Shape shape;
  for (int i = 0; i < 70; ++i) {
    const std::string header = make_header(Dtype::i8, shape);
    EXPECT_EQ(header.size() % 64, 0U);
    EXPECT_EQ(header.back(), '\n');
    const std::string file = header + std::string(8, '\0');
    EXPECT_EQ(shape_of(file), shape);
    shape.push_back(1);
  }
}

TEST(NpyHeader, UsesVersionTwoWhenItIsTooLongForVersionOne) {
  int previous = 1;
  for (std::size_t size = 21700; size < 21900; ++size) {
    const Shape shape(size, 1);
    const std::string file = make_header(Dtype::u1, shape) + "x";
    EXPECT_EQ(file.size() % 64, 1U);
    EXPECT_EQ(file[6], file.size() - 1 <= 65535 + 10 ? 1 : 2);
    EXPECT_EQ(shape_of(file), shape);
    EXPECT_GE(file[6], previous);
    previous = file[6];
  }
  EXPECT_EQ(previous, 2);
}

TEST_F(NpyFile, WritesWhatItReads) {
  const std::vector<std::int32_t> values = {1, -2, 3, -4, 5, -6};
  const auto bytes = std::as_bytes(std::span(values));
  const auto ok = upsweep::npy::write(path("a.npy"), Dtype::i4, Shape{2, 3}, bytes);
  ASSERT_TRUE(ok) << ok.error();
  const auto array = Array::open(path("a.npy"));
  ASSERT_TRUE(array) << array.error();
  EXPECT_EQ(Shape(array->shape().begin(), array->shape().end()), (Shape{2, 3}));
  EXPECT_EQ(items<std::int32_t>(*array, 0, 6, Dtype::i4), values);
  EXPECT_EQ(array->header().data_offset, 128U);
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(NpyFile, WritesArraysWithoutItemsOrDimensions) {
  ASSERT_TRUE(upsweep::npy::write(path("a.npy"), Dtype::f8, Shape{4, 0}, {}));
  EXPECT_EQ(content("a.npy"), make_header(Dtype::f8, Shape{4, 0}));
  const std::array one{std::byte{'1'}};
  ASSERT_TRUE(upsweep::npy::write(path("b.npy"), Dtype::u1, Shape{}, one));
  EXPECT_EQ(content("b.npy"), make_header(Dtype::u1, Shape{}) + "1");
}

TEST_F(NpyFile, RefusesToWriteAnotherSizeThanTheShape) {
  const std::array<std::byte, 7> bytes{};
  EXPECT_EQ(upsweep::npy::write(path("a.npy"), Dtype::u2, Shape{2, 2}, bytes).error(),
            path("a.npy") + ": shape (2, 2) of dtype 'u2' takes 8 bytes, 7 were given");
  EXPECT_EQ(upsweep::npy::write(path("a.npy"), Dtype::u2, Shape{1ULL << 62}, bytes).error(),
            path("a.npy") +
                ": shape (4611686018427387904,) of dtype 'u2' is too large (over 2^63 "
                "- 1 bytes)");
  EXPECT_EQ(file_count(), 0U);
}

TEST_F(NpyFile, WriterAppendsPiecesAndLeavesOneFile) {
  auto writer = Writer::create(path("a.npy"), Dtype::u1, Shape{5});
  ASSERT_TRUE(writer) << writer.error();
  const std::string_view text = "hello";
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_EQ(writer->remaining(), 5U);
  ASSERT_TRUE(writer->append(bytes.first(2)));
  ASSERT_TRUE(writer->append({}));
  ASSERT_TRUE(writer->append(bytes.subspan(2)));
  EXPECT_EQ(writer->remaining(), 0U);
  EXPECT_FALSE(fs::exists(path("a.npy")));
  ASSERT_TRUE(writer->commit());
  EXPECT_EQ(content("a.npy"), make_header(Dtype::u1, Shape{5}) + "hello");
  EXPECT_EQ(file_count(), 1U);
  EXPECT_FALSE(writer->commit());
}

TEST_F(NpyFile, WriterRefusesTooManyBytesAndCanGoOn) {
  auto writer = Writer::create(path("a.npy"), Dtype::u1, Shape{3});
  ASSERT_TRUE(writer);
  const std::array<std::byte, 4> bytes{};
  ASSERT_TRUE(writer->append(std::span(bytes).first(1)));
  EXPECT_EQ(writer->append(bytes).error(), path("a.npy") + ": 4 bytes do not fit, the shape leaves room for 2 of 3");
  ASSERT_TRUE(writer->append(std::span(bytes).first(2)));
  ASSERT_TRUE(writer->commit());
}

TEST_F(NpyFile, WriterRefusesToCommitAnIncompleteArrayAndLeavesNothing) {
  put("a.npy", "old");
  {
    auto writer = Writer::create(path("a.npy"), Dtype::u4, Shape{2});
    ASSERT_TRUE(writer);
    const std::array<std::byte, 4> bytes{};
    ASSERT_TRUE(writer->append(bytes));
    EXPECT_EQ(writer->commit().error(), path("a.npy") + ": array is incomplete (4 of 8 bytes)");
  }
  EXPECT_EQ(content("a.npy"), "old");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(NpyFile, WriterReportsAFullDiskAndAMissingDirectory) {
  if (fs::exists("/dev/full")) {
    EXPECT_EQ(Writer::create("/dev/full", Dtype::u1, Shape{1}).error(),
              "/dev/full: cannot write: No space left on device");
  }
  EXPECT_EQ(Writer::create(path("no/a.npy"), Dtype::u1, Shape{1}).error(),
            path("no/a.npy") + ": cannot create a temporary file in '" + path("no") + "': No such file or directory");
}

TEST_F(NpyFile, WritesThroughToAPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::array one{std::byte{'1'}};
  ASSERT_TRUE(upsweep::npy::write("/dev/fd/" + std::to_string(ends[1]), Dtype::u1, Shape{1}, one));
  close(ends[1]);
  const auto array = Array::open("/dev/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  ASSERT_TRUE(array) << array.error();
  EXPECT_EQ(items<std::uint8_t>(*array, 0, 1, Dtype::u1), std::vector<std::uint8_t>{'1'});
}

}  // namespace
