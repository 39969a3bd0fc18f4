// SPDX-License-Identifier: Apache-2.0
#include "outputs.h"

#include <algorithm>
#include <cstring>

namespace upsweep::cli {

Outcome ArrayFile::begin(npy::Dtype dtype, std::span<const std::uint64_t> shape) {
  const std::string header = npy::make_header(dtype, shape);
  return write(std::as_bytes(std::span(header)));
}

Outcome ArrayFile::begin_like(const npy::Array& source, std::span<const std::uint64_t> shape) {
  const npy::Header& header = source.header();
  if (header.swapped) swapped_bytes_ = npy::item_size(header.dtype);
  const std::string text = npy::make_header(header.dtype, shape, header.swapped);
  return write(std::as_bytes(std::span(text)));
}

Outcome ArrayFile::append(std::span<const std::byte> bytes) {
  if (swapped_bytes_ == 1) return write(bytes);
  std::vector<std::byte> swapped(bytes.begin(), bytes.end());
  for (std::size_t at = 0; at < swapped.size(); at += swapped_bytes_) {
    std::ranges::reverse(std::span(swapped).subspan(at, swapped_bytes_));
  }
  return write(swapped);
}

Outcome ArrayFile::write(std::span<const std::byte> bytes) {
  if (const auto ok = file_.write(bytes); !ok) return refuse(ok.error());
  return {};
}

Outcome ArrayFile::append_indices(std::span<const std::byte> words) {
  std::vector<std::uint32_t> narrow(words.size() / sizeof(std::uint32_t));
  std::memcpy(narrow.data(), words.data(), words.size());
  const std::vector<std::int64_t> wide(narrow.begin(), narrow.end());
  return append(std::as_bytes(std::span(wide)));
}

Outcome ArrayFile::commit() {
  if (const auto ok = file_.commit(); !ok) return refuse(ok.error());
  return {};
}

Outcome Outputs::open(std::string_view option, const std::string& path) {
  auto file = npy::OutputFile::create(path);
  if (!file) return refuse(file.error());
  files_.push_back({option, ArrayFile(std::move(*file))});
  return {};
}

ArrayFile* Outputs::find(std::string_view option) {
  const auto named = std::ranges::find(files_, option, &Named::option);
  return named == files_.end() ? nullptr : &named->file;
}

Outcome Outputs::commit() {
  for (Named& named : files_) {
    if (const auto ok = named.file.commit(); !ok) return ok;
  }
  return {};
}

}  // namespace upsweep::cli
