// SPDX-License-Identifier: Apache-2.0
#include "windowed_reduce.h"

#include <webgpu/webgpu.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace upsweep::cli {
namespace {

struct ReleaseBuffer {
  void operator()(WGPUBuffer buffer) const { wgpuBufferRelease(buffer); }
};
using Buffer = std::unique_ptr<WGPUBufferImpl, ReleaseBuffer>;

class Run {
 public:
  Run(Context& context, const WindowedReduce& job, Progress& progress, const TakeResult& take)
      : context_(context), fold_(job.fold), items_(job.fold.items()), job_(job), progress_(progress), take_(take) {
    const std::uint64_t bytes = std::min(job.window_bytes, context.traits().max_buffer_bytes);
    constexpr std::uint64_t most_items = std::uint64_t{1} << 31;  // a reduction counts in u32
    window_items_ = std::clamp<std::uint64_t>(bytes / items_.type().size_bytes, 1, most_items);
  }

  Outcome run() {
    const std::uint64_t item_count = items_.array().item_count();
    if (const auto ok = make(input_, std::min(window_items_, item_count) * items_.type().size_bytes); !ok) return ok;
    if (job_.rows.length <= window_items_) return whole_rows();
    for (std::uint64_t row = 0; row < job_.rows.count; ++row) {
      const Outcome ok = fold_.is_arg() ? split_row_arg(row) : split_row(row);
      if (!ok) return ok;
    }
    return {};
  }

 private:
  struct Step {
    ReduceShape shape;
    ReduceBuffers buffers;
  };

  Outcome make(Buffer& buffer, std::uint64_t size_bytes) {
    auto made = context_.create_buffer(size_bytes, "upsweep reduce");
    if (!made) return failed(made.error());
    buffer.reset(*made);
    return {};
  }

  Outcome upload(std::uint64_t first, std::uint64_t count) {
    const auto bytes = items_.window(first, count, scratch_);
    if (!bytes) return std::unexpected(bytes.error());
    if (const Status ok = context_.write(input_.get(), *bytes); !ok) return failed(ok.error());
    return {};
  }

  Outcome submit(const std::vector<Step>& steps) {
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(context_.device(), nullptr);
    Status status;
    for (const Step& step : steps) {
      if (status) status = record_reduce(context_, encoder, step.shape, step.buffers);
    }
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
    wgpuCommandEncoderRelease(encoder);
    if (status) wgpuQueueSubmit(context_.queue(), 1, &commands);
    wgpuCommandBufferRelease(commands);
    if (!status) return fold_.failure(status.error());
    return check_device(context_);
  }

  Expected<std::vector<std::byte>> read(const Buffer& buffer, std::uint64_t size_bytes) {
    auto bytes = context_.read(buffer.get(), size_bytes);
    if (!bytes) return failed(bytes.error());
    if (const Outcome ok = check_device(context_); !ok) return std::unexpected(ok.error());
    return std::move(*bytes);
  }

  // Of items of the file, without counts.
  [[nodiscard]] ReduceShape item_shape(const BinaryOperator& op, std::uint64_t first_index) const {
    ReduceShape shape{
        .input = items_.type(), .transform = fold_.transform(first_index), .value = fold_.value(), .combine = op};
    shape.output = folded_type(op, fold_.value());
    return shape;
  }

  Outcome whole_rows() {
    const ElementType result = folded_type(fold_.op(), fold_.value());
    const std::uint64_t fitting = job_.rows.length == 0 ? job_.rows.count : window_items_ / job_.rows.length;
    const std::uint64_t batch = std::min({job_.rows.count, fitting, window_items_});
    Buffer output;
    if (const auto ok = make(output, batch * result.stride_bytes); !ok) return ok;
    for (std::uint64_t row = 0; row < job_.rows.count; row += batch) {
      const std::uint64_t rows = std::min(batch, job_.rows.count - row);
      if (const auto ok = upload(row * job_.rows.length, rows * job_.rows.length); !ok) return ok;
      ReduceShape shape = item_shape(fold_.op(), 0);
      shape.init = fold_.init_as(fold_.value());
      if (job_.by_rows) {
        shape.segments = Segmentation::rows(Count::on_host(rows), static_cast<std::uint32_t>(job_.rows.length));
      } else {
        shape.item_count = Count::on_host(job_.rows.length);
      }
      if (const auto ok = submit({{shape, {.input = input_.get(), .output = output.get()}}}); !ok) return ok;
      const auto bytes = read(output, rows * result.stride_bytes);
      if (!bytes) return std::unexpected(bytes.error());
      for (std::uint64_t i = 0; i < rows; ++i) {
        if (const auto ok = take_(number_at(*bytes, *result.scalar, i)); !ok) return ok;
      }
      progress_.at((row + rows) * job_.rows.length * items_.type().size_bytes);
    }
    return {};
  }

  // Reduces each window of a row with every operator; the partial results of ops[k] go to outputs[k].
  Outcome reduce_parts(std::uint64_t row, const std::vector<BinaryOperator>& ops, std::vector<Buffer>& outputs) {
    const std::uint64_t parts = part_count();
    for (const BinaryOperator& op : ops) {
      if (const auto ok = make(outputs.emplace_back(), parts * folded_type(op, fold_.value()).stride_bytes); !ok)
        return ok;
    }
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::uint64_t first = part * window_items_;
      const std::uint64_t count = std::min(window_items_, job_.rows.length - first);
      if (const auto ok = upload(row * job_.rows.length + first, count); !ok) return ok;
      std::vector<Step> steps;
      for (std::size_t k = 0; k < ops.size(); ++k) {
        ReduceShape shape = item_shape(ops[k], first);
        shape.item_count = Count::on_host(count);
        const BufferView output(outputs[k].get(), part * shape.output->stride_bytes, shape.output->stride_bytes);
        steps.push_back({shape, {.input = input_.get(), .output = output}});
      }
      if (const auto ok = submit(steps); !ok) return ok;
      // Two windows at most wait in the queue's staging memory.
      if (part % 2 == 1) {
        if (const Status ok = context_.wait(); !ok) return failed(ok.error());
      }
      progress_.at((row * job_.rows.length + first + count) * items_.type().size_bytes);
    }
    return {};
  }

  Outcome split_row(std::uint64_t row) {
    std::vector<Buffer> partials;
    if (const auto ok = reduce_parts(row, {fold_.op()}, partials); !ok) return ok;
    const ElementType type = folded_type(fold_.op(), fold_.value());
    ReduceShape shape{.item_count = Count::on_host(part_count()), .input = type, .combine = fold_.op()};
    shape.init = fold_.init_as(type);
    Buffer output;
    if (const auto ok = make(output, type.stride_bytes); !ok) return ok;
    if (const auto ok = submit({{shape, {.input = partials[0].get(), .output = output.get()}}}); !ok) return ok;
    const auto bytes = read(output, type.stride_bytes);
    if (!bytes) return std::unexpected(bytes.error());
    return take_(number_at(*bytes, *type.scalar, 0));
  }

  // The index in the row may need 64 bits: the host compares the windows' least (or greatest) values.
  Outcome split_row_arg(std::uint64_t row) {
    const bool is_min = fold_.op().kind == OperatorKind::argmin;
    const BinaryOperator extremum = is_min ? BinaryOperator::min() : BinaryOperator::max();
    std::vector<Buffer> outputs;
    if (const auto ok = reduce_parts(row, {fold_.op(), extremum}, outputs); !ok) return ok;
    const ElementType type = folded_type(extremum, fold_.value());
    const auto indices = read(outputs[0], part_count() * 4);
    if (!indices) return std::unexpected(indices.error());
    const auto values = read(outputs[1], part_count() * type.stride_bytes);
    if (!values) return std::unexpected(values.error());
    std::uint64_t best = 0;
    for (std::uint64_t part = 1; part < part_count(); ++part) {
      const Number value = number_at(*values, *type.scalar, part);
      if (comes_first(value, number_at(*values, *type.scalar, best), is_min)) best = part;
    }
    const std::uint64_t index = std::get<std::uint64_t>(number_at(*indices, Scalar::u32, best));
    return take_(best * window_items_ + index);
  }

  [[nodiscard]] std::uint64_t part_count() const { return (job_.rows.length + window_items_ - 1) / window_items_; }

  Context& context_;
  const Fold& fold_;
  const Items& items_;
  const WindowedReduce& job_;
  Progress& progress_;
  const TakeResult& take_;
  std::uint64_t window_items_ = 1;
  Buffer input_;
  std::vector<std::byte> scratch_;
};

}  // namespace

Outcome reduce_windows(Context& context, const WindowedReduce& job, Progress& progress, const TakeResult& take) {
  return Run(context, job, progress, take).run();
}

}  // namespace upsweep::cli
