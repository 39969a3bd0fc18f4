// NumPy .npy files: a strict reader (formats 1.0, 2.0 and 3.0) and a writer.
//
// Sizes are in bytes unless a name says items. Nothing here throws, except std::bad_alloc for small
// strings and vectors. Errors are one line that starts with the file's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "output_file.h"

namespace upsweep::npy {

template <class T>
using Result = std::expected<T, std::string>;

// Item types, named as NumPy does: kind and size in bytes. b1 is a bool in one byte, 0 or 1.
enum class Dtype : std::uint8_t { b1, u1, u2, u4, u8, i1, i2, i4, i8, f2, f4, f8 };

// Size of one item in bytes: 1, 2, 4 or 8.
std::size_t item_size(Dtype dtype);

// "u4" and so on, without a byte order.
std::string_view dtype_name(Dtype dtype);

// Whether each value of `from` is also a value of `to`, as u1 in u4 or f2 in f4. True for equal
// types; b1 counts as the integers 0 and 1, and nothing else converts to b1.
bool widens_exactly(Dtype from, Dtype to);

// What the start of a file says about the array in it.
struct Header {
  Dtype dtype = Dtype::u1;
  bool swapped = false;              // the items' byte order is not this machine's
  bool fortran_order = false;        // only ever true where it makes no difference to the item order
  std::vector<std::uint64_t> shape;  // slowest dimension first; empty: one item, no dimensions
  std::uint64_t item_count = 0;
  std::uint64_t data_offset = 0;  // from the start of the file
  std::uint64_t data_size = 0;    // item_count * item_size(dtype), at most 2^63 - 1
};

// An array in a file, read-only. The file is memory-mapped; what is no regular file (a pipe,
// /dev/stdin) cannot be mapped and is read into memory as a whole. An array without items is valid.
//
// A mapped file must not get shorter while the array is in use: reading the missing part is a
// SIGBUS. All const members may be called from several threads at once.
class Array {
 public:
  // Fails when the file cannot be read, is no .npy file, is damaged or shorter than its header
  // says, or holds items of an unsupported type or in Fortran order.
  static Result<Array> open(const std::string& path);

  // The same over the bytes of a file in memory, which must outlive the array. `name` is for
  // messages.
  static Result<Array> from_memory(std::span<const std::byte> file, std::string name);

  Array(Array&& other) noexcept;
  Array& operator=(Array&& other) noexcept;
  ~Array();

  const std::string& name() const { return name_; }
  const Header& header() const { return header_; }
  std::span<const std::uint64_t> shape() const { return header_.shape; }
  Dtype dtype() const { return header_.dtype; }
  std::uint64_t item_count() const { return header_.item_count; }

  // Bytes of the file behind the array, which are ignored as NumPy does (np.load, with and without
  // mmap_mode, as several arrays may follow each other in a file). 0 for a pipe, where they are not
  // read. A tool may want to warn.
  std::uint64_t trailing_size() const { return trailing_size_; }

  // All items as they are in the file, or nothing when their byte order is not this machine's. The
  // bytes may be unaligned for the item type.
  std::optional<std::span<const std::byte>> span() const;

  // Copies items [first, first + count) to `out` in this machine's byte order, tightly packed.
  // Fails when the window reaches past the last item or `out` is not exactly count items long.
  Result<void> read(std::uint64_t first, std::uint64_t count, std::span<std::byte> out) const;

  // As read(), with each item converted to `target`; `out` is count * item_size(target) bytes.
  // Fails also unless widens_exactly(dtype(), target). Signs, subnormals, infinities and NaN
  // payloads are kept; a b1 other than 0 becomes 1 (but read as b1 it is copied as it is).
  Result<void> read_as(std::uint64_t first, std::uint64_t count, Dtype target, std::span<std::byte> out) const;

 private:
  Array() = default;
  Result<void> check_window(std::uint64_t first, std::uint64_t count, std::size_t size, Dtype target) const;
  void unmap() noexcept;

  std::string name_;
  Header header_;
  std::span<const std::byte> data_;  // all items, as in the file
  std::uint64_t trailing_size_ = 0;
  void* mapping_ = nullptr;  // null when there are no items or the bytes are the caller's
  std::size_t mapping_size_ = 0;
};

// The start of a file for an array in C order, byte for byte what NumPy writes: version 1.0, or 2.0
// for a header over 65535 bytes, padded to a multiple of 64. `swapped`: the items' byte order is not
// this machine's.
std::string make_header(Dtype dtype, std::span<const std::uint64_t> shape, bool swapped = false);

// Writes an array in pieces: create(), append() until the shape is full, commit(). The file comes
// and goes as described at OutputFile; without commit() there is none.
class Writer {
 public:
  // Fails as OutputFile::create does, and when the array would be over 2^63 - 1 bytes.
  static Result<Writer> create(const std::string& path, Dtype dtype, std::span<const std::uint64_t> shape);

  // Appends items in this machine's byte order, tightly packed; a piece may end within an item.
  // Fails when the shape leaves no room for all of `bytes` (then none are written) or writing
  // fails (then so does everything after).
  Result<void> append(std::span<const std::byte> bytes);

  // Moves the file to its name. Fails when bytes are missing or an earlier call failed.
  Result<void> commit();

  // Bytes still to be appended.
  std::uint64_t remaining() const { return remaining_; }

 private:
  Writer(OutputFile file, std::uint64_t size) : file_(std::move(file)), size_(size), remaining_(size) {}

  OutputFile file_;
  std::uint64_t size_;
  std::uint64_t remaining_;
};

// Writes a whole array at once; `bytes` must be exactly as long as the shape says.
Result<void> write(const std::string& path, Dtype dtype, std::span<const std::uint64_t> shape,
                   std::span<const std::byte> bytes);

}  // namespace upsweep::npy
