// SPDX-License-Identifier: Apache-2.0
#include "upsweep/context.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <format>
#include <thread>

#include "exec/context_impl.h"
#include "plan/grid.h"

namespace upsweep {

bool Waiter::wait(WGPUFuture future, const bool& done) const {
  if (instance_ == nullptr) return done;
  WGPUFutureWaitInfo info = WGPU_FUTURE_WAIT_INFO_INIT;
  info.future = future;
  while (!done) {
    const WGPUWaitStatus status = wgpuInstanceWaitAny(instance_, 1, &info, can_time_ ? UINT64_MAX : 0);
    if (status == WGPUWaitStatus_Error) return done;
    // Instances without timed waits are asked again soon: a busy loop would take a core from a software adapter.
    if (!done && !can_time_) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

void Waiter::process_events() const {
  if (instance_ != nullptr) wgpuInstanceProcessEvents(instance_);
}

namespace {

constexpr WGPUErrorFilter filters[] = {WGPUErrorFilter_OutOfMemory, WGPUErrorFilter_Internal,
                                       WGPUErrorFilter_Validation};

struct PoppedError {
  std::string message;
  bool done = false;
  std::shared_ptr<ErrorInbox> late_to;  // set when nobody waits any more
};

void take_popped(WGPUPopErrorScopeStatus, WGPUErrorType type, WGPUStringView message, void* userdata, void*) {
  auto* popped = static_cast<PoppedError*>(userdata);
  popped->done = true;
  if (type != WGPUErrorType_NoError) popped->message = from_wgpu(message);
  if (popped->late_to == nullptr) return;
  if (!popped->message.empty()) popped->late_to->put({ErrorKind::device, std::move(popped->message)});
  delete popped;
}

}  // namespace

ErrorScope::ErrorScope(Context::Impl& context) : context_(context) {
  for (const WGPUErrorFilter filter : filters) wgpuDevicePushErrorScope(context_.device.get(), filter);
}

ErrorScope::~ErrorScope() {
  if (open_) (void)pop();
}

std::string ErrorScope::pop() {
  open_ = false;
  std::string message;
  for (std::size_t i = 0; i < std::size(filters); ++i) {
    // On the heap: without an instance to wait with, a late callback must find it.
    auto popped = std::make_unique<PoppedError>();
    WGPUPopErrorScopeCallbackInfo callback = WGPU_POP_ERROR_SCOPE_CALLBACK_INFO_INIT;
    callback.mode = WGPUCallbackMode_AllowSpontaneous;
    callback.callback = take_popped;
    callback.userdata1 = popped.get();
    const WGPUFuture future = wgpuDevicePopErrorScope(context_.device.get(), callback);
    if (!popped->done && !context_.waiter.wait(future, popped->done)) {
      popped->late_to = context_.inbox;
      (void)popped.release();
      continue;
    }
    if (message.empty()) message = popped->message;
  }
  return message;
}

void ErrorInbox::put(Error error) {
  const std::scoped_lock lock(mutex);
  // A program that never takes them must not grow for ever.
  constexpr std::size_t most_errors = 64;
  if (errors.size() < most_errors) errors.push_back(std::move(error));
}

std::optional<Error> ErrorInbox::take() {
  const std::scoped_lock lock(mutex);
  if (errors.empty()) return std::nullopt;
  Error error = std::move(errors.front());
  errors.pop_front();
  return error;
}

Result<BufferHandle> Context::Impl::create_buffer(std::uint64_t size_bytes, WGPUBufferUsage usage,
                                                  std::string_view label) {
  if (size_bytes > traits.max_buffer_bytes) {
    return fail(ErrorKind::unsupported, std::format("A buffer of {} bytes is larger than the device's limit ({}).",
                                                    size_bytes, traits.max_buffer_bytes));
  }
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  const std::string full_label = std::format("upsweep.{}", label);
  descriptor.label = to_wgpu(full_label);
  descriptor.size = align_up(std::max<std::uint64_t>(size_bytes, 4), 4);
  descriptor.usage = usage;
  ErrorScope scope(*this);
  BufferHandle buffer(wgpuDeviceCreateBuffer(device.get(), &descriptor));
  const std::string message = scope.pop();
  if (!message.empty() || !buffer) {
    return fail(ErrorKind::device, std::format("The device gave no buffer of {} bytes: {}", size_bytes, message));
  }
  ++statistics.buffers_created;
  return buffer;
}

Context::Context(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Context::~Context() { impl_->pipelines.cancel(); }

WGPUDevice Context::device() const { return impl_->device.get(); }
WGPUQueue Context::queue() const { return impl_->queue.get(); }
WGPUInstance Context::instance() const { return impl_->instance.get(); }
const DeviceTraits& Context::traits() const { return impl_->traits; }
const ProbeReport& Context::probe_report() const { return impl_->probe; }
std::string Context::driver() const { return impl_->driver; }
std::string Context::backend() const { return impl_->backend; }
const ContextStatistics& Context::statistics() const { return impl_->statistics; }

void Context::override_traits(const DeviceTraits& traits) {
  impl_->traits = traits;
  impl_->plans.clear();
  impl_->plan_count = 0;
}

Status Context::prepare(const Plan& plan) {
  std::vector<WantedPipeline> missing;
  for (const Dispatch& dispatch : plan.dispatches) {
    if (!impl_->pipelines.is_ready(*dispatch.kernel, 0)) missing.push_back({dispatch.kernel, 0});
  }
  impl_->pipelines.begin_all(*impl_, missing);
  for (const Dispatch& dispatch : plan.dispatches) {
    const auto pipeline = impl_->pipelines.get(*impl_, dispatch.kernel, 0);
    if (!pipeline) return with_context(pipeline.error(), "preparing " + plan.name);
  }
  return {};
}

void Context::prepare_async(const Plan& plan, std::function<void(Status)> ready) {
  struct Join {
    std::size_t open = 0;
    Status status;
    std::function<void(Status)> ready;
  };
  auto join = std::make_shared<Join>();
  join->open = plan.dispatches.size() + 1;
  join->ready = std::move(ready);
  const auto arrive = [join](const Status& status) {
    if (!status && join->status) join->status = status;
    if (--join->open == 0) join->ready(join->status);
  };
  for (const Dispatch& dispatch : plan.dispatches) impl_->pipelines.get_async(*impl_, dispatch.kernel, arrive);
  arrive({});
}

Status Context::record(RecordTarget target, const Plan& plan, std::span<const Argument> arguments) {
  return impl_->record(target, plan, arguments);
}

void Context::poll() {
  const std::weak_ptr<const bool> lives = impl_->lives;
  impl_->pipelines.tell();
  if (!lives.expired()) impl_->waiter.process_events();
}

Status Context::wait() {
  if (!impl_->waiter.can_wait()) {
    return fail(ErrorKind::invalid_request, "Waiting needs the instance: give it in ContextOptions.");
  }
  bool done = false;
  WGPUQueueWorkDoneCallbackInfo callback = WGPU_QUEUE_WORK_DONE_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.callback = [](WGPUQueueWorkDoneStatus, WGPUStringView, void* userdata, void*) {
    *static_cast<bool*>(userdata) = true;
  };
  callback.userdata1 = &done;
  if (!impl_->waiter.wait(wgpuQueueOnSubmittedWorkDone(impl_->queue.get(), callback), done)) {
    return fail(ErrorKind::device, "Waiting for the device failed.");
  }
  poll();
  return {};
}

std::optional<Error> Context::take_error() { return impl_->inbox->take(); }

Result<WGPUBuffer> Context::create_buffer(std::uint64_t size_bytes, std::string_view label) {
  auto buffer =
      impl_->create_buffer(size_bytes, WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst,
                           label.empty() ? "buffer" : label);
  if (!buffer) return std::unexpected(buffer.error());
  return buffer->give();
}

namespace {

// Whether `size_bytes` at the view's offset, rounded up to a word, lie in the view and in the buffer.
Status check_range(const BufferView& view, std::uint64_t size_bytes) {
  if (view.buffer == nullptr) return fail(ErrorKind::invalid_request, "The view has no buffer.");
  const std::uint64_t buffer_bytes = wgpuBufferGetSize(view.buffer);
  const std::uint64_t rest = align_down(buffer_bytes - std::min(buffer_bytes, view.offset_bytes), 4);
  if (size_bytes <= std::min(rest, view.size_bytes)) return {};
  return fail(ErrorKind::invalid_request, std::format("{} bytes at {} do not fit into a view of a buffer of {} bytes.",
                                                      size_bytes, view.offset_bytes, buffer_bytes));
}

}  // namespace

Status Context::write(const BufferView& view, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (view.offset_bytes % 4 != 0) {
    return fail(ErrorKind::invalid_request,
                std::format("Writes begin at multiples of 4 bytes, not at {}.", view.offset_bytes));
  }
  if (const Status ok = check_range(view, bytes.size()); !ok) return ok;
  const std::uint64_t whole = align_down(bytes.size(), 4);
  if (whole != 0) wgpuQueueWriteBuffer(impl_->queue.get(), view.buffer, view.offset_bytes, bytes.data(), whole);
  if (whole != bytes.size()) {
    std::array<std::byte, 4> last{};
    std::ranges::copy(bytes.subspan(whole), last.begin());
    wgpuQueueWriteBuffer(impl_->queue.get(), view.buffer, view.offset_bytes + whole, last.data(), 4);
  }
  return {};
}

Result<std::vector<std::byte>> Context::read(const BufferView& view, std::uint64_t size_bytes) {
  if (!impl_->waiter.can_wait()) {
    return fail(ErrorKind::invalid_request, "Reading back needs the instance: give it in ContextOptions.");
  }
  if (size_bytes == 0) return std::vector<std::byte>{};
  if (const Status ok = check_range(view, size_bytes); !ok) return std::unexpected(ok.error());
  const std::uint64_t first = align_down(view.offset_bytes, 4);
  const std::uint64_t bytes = align_up(view.offset_bytes + size_bytes - first, 4);
  auto staging = impl_->create_buffer(bytes, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, "readback");
  if (!staging) return std::unexpected(staging.error());
  const EncoderHandle encoder(wgpuDeviceCreateCommandEncoder(impl_->device.get(), nullptr));
  wgpuCommandEncoderCopyBufferToBuffer(encoder.get(), view.buffer, first, staging->get(), 0, bytes);
  const CommandsHandle commands(wgpuCommandEncoderFinish(encoder.get(), nullptr));
  const WGPUCommandBuffer raw = commands.get();
  wgpuQueueSubmit(impl_->queue.get(), 1, &raw);
  struct Mapped {
    bool done = false;
    WGPUMapAsyncStatus status = WGPUMapAsyncStatus_Error;
    std::string message;
  } mapped;
  WGPUBufferMapCallbackInfo callback = WGPU_BUFFER_MAP_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.callback = [](WGPUMapAsyncStatus status, WGPUStringView message, void* userdata, void*) {
    auto& result = *static_cast<Mapped*>(userdata);
    result.done = true;
    result.status = status;
    result.message = from_wgpu(message);
  };
  callback.userdata1 = &mapped;
  impl_->waiter.wait(wgpuBufferMapAsync(staging->get(), WGPUMapMode_Read, 0, bytes, callback), mapped.done);
  if (mapped.status != WGPUMapAsyncStatus_Success) {
    return fail(ErrorKind::device, "Reading back failed: " + mapped.message);
  }
  const auto* data = static_cast<const std::byte*>(wgpuBufferGetConstMappedRange(staging->get(), 0, bytes));
  const std::uint64_t skip = view.offset_bytes - first;
  std::vector<std::byte> result(data + skip, data + skip + size_bytes);
  wgpuBufferUnmap(staging->get());
  return result;
}

void Context::release_bindings() { impl_->bind_groups.clear(); }

}  // namespace upsweep
