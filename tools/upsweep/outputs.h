// SPDX-License-Identifier: Apache-2.0
// The files that a command writes: all are opened before the work, and appear only after it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "npy.h"
#include "output_file.h"

namespace upsweep::cli {

// An array whose shape is known late.
class ArrayFile {
 public:
  explicit ArrayFile(npy::OutputFile file) : file_(std::move(file)) {}

  Outcome begin(npy::Dtype dtype, std::span<const std::uint64_t> shape);
  // For items of `source` as they are there: its type, in its byte order.
  Outcome begin_like(const npy::Array& source, std::span<const std::uint64_t> shape);
  // Whole items in this machine's byte order.
  Outcome append(std::span<const std::byte> bytes);
  // Converts u32 items to i8, NumPy's type of indices and counts.
  Outcome append_indices(std::span<const std::byte> words);
  Outcome commit();

 private:
  Outcome write(std::span<const std::byte> bytes);

  npy::OutputFile file_;
  std::size_t swapped_bytes_ = 1;  // of an item whose order is turned round
};

class Outputs {
 public:
  // Opens the file that the user named in `option`, which the program knows by Program::writes.
  Outcome open(std::string_view option, const std::string& path);
  // Does nothing if he named none.
  Outcome open_if_named(std::string_view option, const std::string& path) {
    return path.empty() ? Outcome{} : open(option, path);
  }
  // Null if the option was not given.
  [[nodiscard]] ArrayFile* find(std::string_view option);
  // Moves the files to their names, one after the other. Should one fail, those before it are there.
  Outcome commit();

 private:
  struct Named {
    std::string_view option;
    ArrayFile file;
  };
  std::vector<Named> files_;
};

}  // namespace upsweep::cli
