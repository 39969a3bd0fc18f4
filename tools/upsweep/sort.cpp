// SPDX-License-Identifier: Apache-2.0
// upsweep sort and upsweep argsort: the items of a .npy file in order, with what belongs to them.
#include "upsweep/sort.h"

#include <chrono>
#include <cstring>
#include <format>

#include "fold.h"
#include "json_result.h"
#include "kept_items.h"
#include "upsweep/host.h"

namespace upsweep::cli {
namespace {

using npy::Dtype;

struct SortOptions {
  std::string file;
  std::string output;
  std::string values;
  std::string values_output;
  std::vector<std::uint32_t> bits;
  bool descending = false;
  bool json = false;
};

// Keys as the device gets them. Those of 1 and 2 bytes become u32 from 0, so that few of their bits have to be sorted.
class KeyFile {
 public:
  static Expected<KeyFile> open(const std::string& path) {
    auto array = npy::Array::open(path == "-" ? "/dev/stdin" : path);
    if (!array) return refuse(array.error());
    return KeyFile(std::move(*array));
  }

  [[nodiscard]] const npy::Array& array() const { return array_; }
  [[nodiscard]] std::uint64_t count() const { return array_.item_count(); }
  [[nodiscard]] std::uint32_t bits() const { return 8 * static_cast<std::uint32_t>(npy::item_size(array_.dtype())); }
  [[nodiscard]] std::uint64_t bytes() const { return count() * type_.size_bytes; }

  [[nodiscard]] SortShape shape(const SortOptions& options) const {
    SortShape shape{.item_count = Count::on_host(count()),
                    .key = type_,
                    .key_is_f64 = array_.dtype() == Dtype::f8,
                    .descending = options.descending,
                    .end_bit = bits()};
    if (!options.bits.empty()) {
      shape.begin_bit = options.bits[0];
      shape.end_bit = options.bits[1];
    }
    return shape;
  }

  Outcome upload(ArrayRun& run, Progress& progress) const {
    const auto give = [this](std::uint64_t first, std::uint64_t count,
                             std::vector<std::byte>& scratch) -> Expected<std::span<const std::byte>> {
      if (!is_widened()) {
        if (const auto all = array_.span()) return all->subspan(first * type_.size_bytes, count * type_.size_bytes);
      }
      scratch.resize(count * type_.size_bytes);
      const Dtype read_as = !is_widened() ? array_.dtype() : least_ == 0 ? Dtype::u4 : Dtype::i4;
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

  // The sorted keys, with the file's type.
  Outcome write(ArrayRun& run, ArrayFile& file) const {
    if (const auto ok = file.begin(array_.dtype(), std::array{count()}); !ok) return ok;
    return run.read("sorted_keys", bytes(), [&](std::span<const std::byte> bytes) -> Outcome {
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
      case Dtype::i1: least_ = static_cast<std::uint32_t>(INT8_MIN); break;
      case Dtype::i2: least_ = static_cast<std::uint32_t>(INT16_MIN); break;
      case Dtype::i4: type_ = ElementType::i32(); break;
      case Dtype::u8:
      case Dtype::f8: type_ = ElementType::u64(); break;
      case Dtype::i8: type_ = ElementType::i64(); break;
      case Dtype::f2: type_ = ElementType::f16(); break;
      case Dtype::f4: type_ = ElementType::f32(); break;
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

  Outcome write(ArrayRun& run, ArrayFile& file) const {
    if (const auto ok = file.begin(array_.dtype(), shape_); !ok) return ok;
    if (type()) {
      return run.read("sorted_values", bytes(), [&](std::span<const std::byte> bytes) { return file.append(bytes); });
    }
    return run.read("indices", shape_.front() * sizeof(std::uint32_t),
                    [&](std::span<const std::byte> words) -> Outcome {
                      std::vector<std::uint32_t> indices(words.size() / sizeof(std::uint32_t));
                      std::memcpy(indices.data(), words.data(), words.size());
                      std::vector<std::byte> rows(indices.size() * row_bytes());
                      for (std::size_t i = 0; i < indices.size(); ++i) {
                        const std::span row = std::span(rows).subspan(i * row_bytes(), row_bytes());
                        if (const auto ok = array_.read(indices[i] * row_items_, row_items_, row); !ok)
                          return refuse(ok.error());
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

std::unexpected<Failure> sort_plan_failed(const Error& error, const KeyFile& keys) {
  auto failure = plan_failed(error, keys.array());
  if (error.kind == ErrorKind::unsupported) {
    failure.error().message += " Sort parts of it, or see the limits of other adapters: `upsweep info` lists them.";
  }
  return failure;
}

void print_sorted(const Context& context, const npy::Array& array, std::chrono::steady_clock::time_point start) {
  print_json({{"items", array.item_count()}, {"dtype", npy::dtype_name(array.dtype())}}, context, start);
}

// Sorts on the device. `values` are null where none go there.
Expected<ArrayRun> run_on_device(Context& context, const SortShape& shape, const KeyFile& keys, const ValueFile* values,
                                 const std::string& command) {
  const auto plan = plan_sort(shape, context.traits());
  if (!plan) return sort_plan_failed(plan.error(), keys);
  auto run = ArrayRun::create(context, *plan, keys.array().name());
  if (!run) return run;
  Progress progress(command, keys.bytes() + (values != nullptr ? values->bytes() : 0));
  if (const auto ok = keys.upload(*run, progress); !ok) return std::unexpected(ok.error());
  if (values != nullptr) {
    if (const auto ok = values->upload(*run, progress); !ok) return std::unexpected(ok.error());
  }
  if (const Status ok = run->run(); !ok) return failed(ok.error());
  if (const auto ok = check_device(context); !ok) return std::unexpected(ok.error());
  return run;
}

Outcome run_sort(Program& program, const SortOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (options.output.empty() && options.values_output.empty()) return refuse("sort needs --output or --values-out");
  auto keys = KeyFile::open(options.file);
  if (!keys) return std::unexpected(keys.error());
  std::optional<ValueFile> values;
  if (!options.values.empty()) {
    auto opened = ValueFile::open(options.values, keys->array());
    if (!opened) return std::unexpected(opened.error());
    values = std::move(*opened);
  }
  if (const auto ok = check_item_count(keys->array()); !ok) return ok;
  SortShape shape = keys->shape(options);
  if (shape.begin_bit >= shape.end_bit || shape.end_bit > keys->bits()) {
    return refuse(std::format("--bits {} {}: BEGIN must be below END, and END at most {} for {}", shape.begin_bit,
                              shape.end_bit, keys->bits(), npy::dtype_name(keys->array().dtype())));
  }
  Outputs outputs;
  if (const auto ok = outputs.open_if_named("--output", options.output); !ok) return ok;
  if (const auto ok = outputs.open_if_named("--values-out", options.values_output); !ok) return ok;
  warn_of_trailing_bytes(keys->array());
  if (values) warn_of_trailing_bytes(values->array());

  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  ArrayFile* output = outputs.find("--output");
  shape.write_keys = output != nullptr;
  if (values) {
    shape.value = values->type();
    shape.write_indices = !shape.value;
  }
  auto run = run_on_device(**context, shape, *keys, shape.value ? &*values : nullptr, "sort");
  if (!run) return std::unexpected(run.error());
  if (output != nullptr) {
    if (const auto ok = keys->write(*run, *output); !ok) return ok;
  }
  if (values) {
    if (const auto ok = values->write(*run, *outputs.find("--values-out")); !ok) return ok;
  }
  if (const auto ok = outputs.commit(); !ok) return ok;
  if (options.json) print_sorted(**context, keys->array(), start);
  return {};
}

Outcome run_argsort(Program& program, const SortOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto keys = KeyFile::open(options.file);
  if (!keys) return std::unexpected(keys.error());
  if (const auto ok = check_item_count(keys->array()); !ok) return ok;
  Outputs outputs;
  if (const auto ok = outputs.open("--output", options.output); !ok) return ok;
  warn_of_trailing_bytes(keys->array());

  const auto context = open_context(program.global);
  if (!context) return std::unexpected(context.error());
  SortShape shape = keys->shape(options);
  shape.write_keys = false;
  shape.write_indices = true;
  auto run = run_on_device(**context, shape, *keys, nullptr, "argsort");
  if (!run) return std::unexpected(run.error());
  if (const auto ok = write_indices(*run, "indices", keys->count(), *outputs.find("--output")); !ok) return ok;
  if (const auto ok = outputs.commit(); !ok) return ok;
  if (options.json) print_sorted(**context, keys->array(), start);
  return {};
}

constexpr const char* sort_examples = R"(  upsweep sort times.npy -o sorted.npy
  upsweep sort --descending scores.npy -o sorted.npy --values names.npy --values-out sorted_names.npy
  upsweep sort --bits 8 24 codes.npy -o by_these_bits.npy
Keys: u1 to u8, i1 to i8, b1, f2, f4, f8, as one flat array; the result is flat. FILE - reads standard input.
Stable, descending, too. NaN comes last (first if descending) and equals NaN, -0 equals +0; keys keep their type and
their bits. Values are any of these types: one a key, or a row of several dimensions a key, as an array of shape (n, 3)
beside n keys; they keep their shape.
--bits sorts by the bits BEGIN to END - 1 of the key alone, 0 the least; of signed keys with the sign flipped, of floats
in the order of their values.
All keys, values and results must fit into the device's memory and limits: `upsweep info` lists them.)";

constexpr const char* argsort_examples = R"(  upsweep argsort distances.npy -o nearest_first.npy
  upsweep argsort --descending scores.npy -o best_first.npy
Keys: u1 to u8, i1 to i8, b1, f2, f4, f8, as one flat array. FILE - reads standard input.
Writes where each item of the sorted array is in the file, as i8: numpy.argsort(x, axis=None, kind="stable"). Stable,
descending, too. NaN comes last (first if descending) and equals NaN, -0 equals +0. All keys and results must fit into
the device's memory and limits: `upsweep info` lists them.)";

}  // namespace

void add_sort(Program& program) {
  auto options = std::make_shared<SortOptions>();
  CLI::App& command = program.add(program.app, "sort", "Sort a .npy file, with values that belong to its items",
                                  sort_examples, options, run_sort);
  command.add_option("file", options->file, "Array of keys")->required()->type_name("KEYS.npy");
  command.add_option("-o,--output", options->output, "File for the sorted keys")->type_name("OUT.npy");
  auto* values = command.add_option("--values", options->values, "Array of values that follow their keys");
  auto* values_output = command.add_option("--values-out", options->values_output, "File for them");
  values->type_name("V.npy")->needs(values_output);
  values_output->type_name("W.npy")->needs(values);
  command.add_flag("--descending", options->descending, "The greatest first");
  command.add_option("--bits", options->bits, "Sort by these bits of the keys alone")
      ->expected(2)
      ->type_name("BEGIN END");
  command.add_flag("--json", options->json, "Print count, type and time as JSON");
}

void add_argsort(Program& program) {
  auto options = std::make_shared<SortOptions>();
  CLI::App& command = program.add(program.app, "argsort", "Write the indices that sort a .npy file", argsort_examples,
                                  options, run_argsort);
  command.add_option("file", options->file, "Array of keys")->required()->type_name("KEYS.npy");
  command.add_option("-o,--output", options->output, "File for the indices")->required()->type_name("INDICES.npy");
  command.add_flag("--descending", options->descending, "The greatest first");
  command.add_flag("--json", options->json, "Print count, type and time as JSON");
}

}  // namespace upsweep::cli
