// SPDX-License-Identifier: Apache-2.0
#include "items.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <format>
#include <limits>

namespace upsweep::cli {
namespace {

using npy::Dtype;

constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;
constexpr double infinity = std::numeric_limits<double>::infinity();

std::uint64_t key_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return bits ^ ((bits & sign_bit) != 0 ? ~std::uint64_t{0} : sign_bit);
}

double value_of_key(std::uint64_t key) {
  return std::bit_cast<double>(key ^ ((key & sign_bit) != 0 ? sign_bit : ~std::uint64_t{0}));
}

// Replaces items in place, front to back; an output item is not larger than an input item.
template <typename To, typename Convert>
void convert(std::vector<std::byte>& bytes, std::uint64_t count, Convert convert_item) {
  for (std::uint64_t i = 0; i < count; ++i) {
    double item = 0;
    std::memcpy(&item, bytes.data() + i * sizeof(item), sizeof(item));
    const To converted = convert_item(item);
    std::memcpy(bytes.data() + i * sizeof(To), &converted, sizeof(To));
  }
  bytes.resize(count * sizeof(To));
}

}  // namespace

Expected<Items> Items::open(const std::string& path, OperatorKind op, bool round_to_f4) {
  auto array = npy::Array::open(path);
  if (!array) return refuse(array.error());
  Items items(std::move(*array));
  const Dtype stored = items.array_.dtype();
  items.dtype_ = stored;
  if (round_to_f4) {
    if (stored != Dtype::f8 && !npy::widens_exactly(stored, Dtype::f4)) {
      return refuse(std::format("{}: --cast f4 is for f8 and for items that f4 holds exactly, not for {}",
                                items.array_.name(), npy::dtype_name(stored)));
    }
    items.dtype_ = Dtype::f4;
    items.read_as_ = stored == Dtype::f8 ? Dtype::f8 : Dtype::f4;
    items.preparation_ = stored == Dtype::f8 ? Preparation::round : Preparation::widen;
    items.type_ = ElementType::f32();
    return items;
  }
  switch (stored) {
    case Dtype::b1:
    case Dtype::u1:
    case Dtype::u2:
    case Dtype::u4:
      items.read_as_ = Dtype::u4;
      items.type_ = ElementType::u32();
      return items;
    case Dtype::i1:
    case Dtype::i2:
    case Dtype::i4:
      items.read_as_ = Dtype::i4;
      items.type_ = ElementType::i32();
      return items;
    case Dtype::u8:
    case Dtype::i8:
    case Dtype::f2:
    case Dtype::f4:
      items.read_as_ = stored;
      items.type_ = stored == Dtype::u8   ? ElementType::u64()
                    : stored == Dtype::i8 ? ElementType::i64()
                    : stored == Dtype::f2 ? ElementType::f16()
                                          : ElementType::f32();
      return items;
    case Dtype::f8: break;
  }
  items.read_as_ = Dtype::f8;
  switch (op) {
    case OperatorKind::argmin:
    case OperatorKind::argmax: items.zeros_are_equal_ = true; [[fallthrough]];
    case OperatorKind::min:
    case OperatorKind::max: {
      const bool is_min = op == OperatorKind::min || op == OperatorKind::argmin;
      items.preparation_ = is_min ? Preparation::order_min : Preparation::order_max;
      items.type_ = ElementType::u64();
      return items;
    }
    case OperatorKind::logical_any:
    case OperatorKind::logical_all:
      items.preparation_ = Preparation::truth;
      items.type_ = ElementType::u32();
      return items;
    default:
      return refuse(
          std::format("{}: f8 items allow min, max, argmin, argmax, any and all only: WebGPU has no 64-bit floats to "
                      "calculate with; "
                      "--cast f4 rounds the items to 32 bits first",
                      items.array_.name()));
  }
}

Expected<Items> Items::open_for_text(const std::string& path, std::string_view option, bool round_to_f4) {
  auto items = open_to_compare(path, round_to_f4);
  if (items && items->has_keys()) {
    return refuse(std::format("{}: {} calculates in WGSL, which has no 64-bit floats; add --cast f4",
                              items->array_.name(), option));
  }
  return items;
}

void Items::widen_f16() {
  if (read_as_ != Dtype::f2) return;
  read_as_ = Dtype::f4;
  type_ = ElementType::f32();
}

Number Items::value_of(const Number& result) const {
  if (!has_keys()) return result;
  const std::uint64_t key = std::get<std::uint64_t>(result);
  // Keys that no number has: NaN on one side, the operator's identity on the other.
  if (key < key_of(-infinity)) return preparation_ == Preparation::order_min ? std::nan("") : -infinity;
  if (key > key_of(infinity)) return preparation_ == Preparation::order_max ? std::nan("") : infinity;
  return value_of_key(key);
}

Number Items::item_of(const Number& value) const {
  const double* number = std::get_if<double>(&value);
  if (number == nullptr) return value;
  if (preparation_ == Preparation::truth) return std::uint64_t{*number != 0};
  if (!has_keys()) return value;
  if (std::isnan(*number)) return preparation_ == Preparation::order_min ? std::uint64_t{0} : ~std::uint64_t{0};
  return key_of(zeros_are_equal_ ? *number + 0.0 : *number);
}

Expected<std::span<const std::byte>> Items::window(std::uint64_t first, std::uint64_t count,
                                                   std::vector<std::byte>& scratch) const {
  if (are_as_in_file()) {
    if (const auto all = array_.span()) return all->subspan(first * type_.size_bytes, count * type_.size_bytes);
  }
  scratch.resize(count * npy::item_size(read_as_));
  if (const auto ok = array_.read_as(first, count, read_as_, scratch); !ok) return refuse(ok.error());
  switch (preparation_) {
    case Preparation::widen: break;
    case Preparation::round:
      convert<float>(scratch, count, [](double item) { return static_cast<float>(item); });
      break;
    case Preparation::truth:
      convert<std::uint32_t>(scratch, count, [](double item) { return std::uint32_t{item != 0}; });
      break;
    case Preparation::order_min:
    case Preparation::order_max:
      convert<std::uint64_t>(scratch, count, [this](double item) { return std::get<std::uint64_t>(item_of(item)); });
      break;
  }
  return scratch;
}

}  // namespace upsweep::cli
