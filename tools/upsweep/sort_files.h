// SPDX-License-Identifier: Apache-2.0
// Files of keys, and of values that belong to them.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <format>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array_run.h"
#include "outputs.h"
#include "upsweep/host.h"
#include "upsweep/sort.h"

namespace upsweep::cli {

// Keys as the device gets them. Those of 1 and 2 bytes become u32 from 0, so that few of their bits have to be sorted.
class KeyFile {
 public:
  static Expected<KeyFile> open(const std::string& path) {
    auto array = npy::Array::open(path);
    if (!array) return refuse(array.error());
    return KeyFile(std::move(*array));
  }

  [[nodiscard]] const npy::Array& array() const { return array_; }
  [[nodiscard]] std::uint64_t count() const { return array_.item_count(); }
  [[nodiscard]] std::uint32_t bits() const { return 8 * static_cast<std::uint32_t>(npy::item_size(array_.dtype())); }
  [[nodiscard]] std::uint64_t bytes() const { return count() * type_.size_bytes; }

  [[nodiscard]] SortShape shape() const {
    return {.item_count = Count::on_host(count()),
            .key = type_,
            .key_is_f64 = array_.dtype() == npy::Dtype::f8,
            .end_bit = bits()};
  }

  Outcome upload(ArrayRun& run, Progress& progress) const {
    const auto give = [this](std::uint64_t first, std::uint64_t count,
                             std::vector<std::byte>& scratch) -> Expected<std::span<const std::byte>> {
      if (!is_widened()) {
        if (const auto all = array_.span()) return all->subspan(first * type_.size_bytes, count * type_.size_bytes);
      }
      scratch.resize(count * type_.size_bytes);
      const npy::Dtype read_as = !is_widened() ? array_.dtype() : least_ == 0 ? npy::Dtype::u4 : npy::Dtype::i4;
      if (const auto ok = array_.read_as(first, count, read_as, scratch); !ok) return refuse(ok.error());
      if (least_ != 0) {
        for_each_word(scratch, [this](std::uint32_t word, std::uint64_t at, std::span<std::byte> bytes) {
          word -= least_;
          std::memcpy(bytes.data() + at * sizeof(word), &word, sizeof(word));
        });
      }
      return scratch;
    };
    return run.upload("keys", type_.size_bytes, count(), give, progress);
  }

  // The first keys of an argument, with the file's type and byte order.
  Outcome write(ArrayRun& run, std::string_view argument, std::uint64_t key_count, ArrayFile& file) const {
    if (const auto ok = file.begin_like(array_, std::array{key_count}); !ok) return ok;
    return run.read(argument, key_count * type_.size_bytes, [&](std::span<const std::byte> bytes) -> Outcome {
      if (!is_widened()) return file.append(bytes);
      std::vector<std::byte> words(bytes.begin(), bytes.end());
      const std::size_t size = npy::item_size(array_.dtype());
      for_each_word(words, [&](std::uint32_t word, std::uint64_t at, std::span<std::byte> all) {
        word += least_;
        std::memcpy(all.data() + at * size, &word, size);  // its low bytes; never behind the word just read
      });
      words.resize(words.size() / sizeof(std::uint32_t) * size);
      return file.append(words);
    });
  }

 private:
  explicit KeyFile(npy::Array array) : array_(std::move(array)) {
    switch (array_.dtype()) {
      case npy::Dtype::i1: least_ = static_cast<std::uint32_t>(INT8_MIN); break;
      case npy::Dtype::i2: least_ = static_cast<std::uint32_t>(INT16_MIN); break;
      case npy::Dtype::i4: type_ = ElementType::i32(); break;
      case npy::Dtype::u8:
      case npy::Dtype::f8: type_ = ElementType::u64(); break;
      case npy::Dtype::i8: type_ = ElementType::i64(); break;
      case npy::Dtype::f2: type_ = ElementType::f16(); break;
      case npy::Dtype::f4: type_ = ElementType::f32(); break;
      default: break;
    }
  }

  [[nodiscard]] bool is_widened() const { return type_.size_bytes != npy::item_size(array_.dtype()); }

  template <typename Use>
  static void for_each_word(std::vector<std::byte>& bytes, Use use) {
    for (std::uint64_t at = 0; at < bytes.size() / sizeof(std::uint32_t); ++at) {
      std::uint32_t word = 0;
      std::memcpy(&word, bytes.data() + at * sizeof(word), sizeof(word));
      use(word, at, std::span(bytes));
    }
  }

  npy::Array array_;
  ElementType type_ = ElementType::u32();
  std::uint32_t least_ = 0;  // of signed keys that are widened; becomes 0
};

// Values that go with the keys: an item, or a row, for each.
class ValueFile {
 public:
  static Expected<ValueFile> open(const std::string& path, const npy::Array& keys) {
    auto opened = npy::Array::open(path);
    if (!opened) return refuse(opened.error());
    ValueFile file(std::move(*opened));
    const npy::Array& array = file.array_;
    const std::uint64_t count = keys.item_count();
    if (!array.shape().empty() && array.shape().front() == count) {
      file.shape_.assign(array.shape().begin(), array.shape().end());
      for (const std::uint64_t length : array.shape().subspan(1)) file.row_items_ *= length;
    } else if (array.item_count() == count) {
      file.shape_ = {count};
    } else {
      return refuse(std::format("{}: {} values, or rows of a first dimension of {}, do not go with the {} keys of {}",
                                array.name(), array.item_count(), array.shape().empty() ? 1 : array.shape().front(),
                                count, keys.name()));
    }
    if (file.row_items_ == 0) return refuse(std::format("{}: rows without items are no values", array.name()));
    return file;
  }

  // Nothing for values that the device does not move: the host gathers them by index.
  [[nodiscard]] std::optional<ElementType> type() const {
    auto type = host::moved_type(row_bytes());
    return type ? std::optional(std::move(*type)) : std::nullopt;
  }
  [[nodiscard]] const npy::Array& array() const { return array_; }
  [[nodiscard]] std::uint64_t bytes() const { return shape_.front() * row_bytes(); }

  Outcome upload(ArrayRun& run, Progress& progress) const {
    const auto give = [this](std::uint64_t first, std::uint64_t count,
                             std::vector<std::byte>& scratch) -> Expected<std::span<const std::byte>> {
      if (const auto all = array_.span()) return all->subspan(first * row_bytes(), count * row_bytes());
      scratch.resize(count * row_bytes());
      if (const auto ok = array_.read(first * row_items_, count * row_items_, scratch); !ok) return refuse(ok.error());
      return scratch;
    };
    return run.upload("values", row_bytes(), shape_.front(), give, progress);
  }

  // The first values of an argument, or where the device does not move them, those at the indices in argument
  // `indices`.
  Outcome write(ArrayRun& run, std::string_view argument, std::uint64_t value_count, ArrayFile& file) const {
    std::vector<std::uint64_t> shape = shape_;
    shape.front() = value_count;
    if (const auto ok = file.begin_like(array_, shape); !ok) return ok;
    if (type()) {
      return run.read(argument, value_count * row_bytes(),
                      [&](std::span<const std::byte> bytes) { return file.append(bytes); });
    }
    return run.read("indices", value_count * sizeof(std::uint32_t), [&](std::span<const std::byte> words) -> Outcome {
      std::vector<std::uint32_t> indices(words.size() / sizeof(std::uint32_t));
      std::memcpy(indices.data(), words.data(), words.size());
      std::vector<std::byte> rows(indices.size() * row_bytes());
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::span row = std::span(rows).subspan(i * row_bytes(), row_bytes());
        if (const auto ok = array_.read(indices[i] * row_items_, row_items_, row); !ok) return refuse(ok.error());
      }
      return file.append(rows);
    });
  }

 private:
  explicit ValueFile(npy::Array array) : array_(std::move(array)) {}
  [[nodiscard]] std::uint64_t row_bytes() const { return row_items_ * npy::item_size(array_.dtype()); }

  npy::Array array_;
  std::vector<std::uint64_t> shape_;  // of the result
  std::uint64_t row_items_ = 1;
};

}  // namespace upsweep::cli
