// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <format>

#include "exec/context_impl.h"
#include "plan/hash.h"
#include "plan/wgsl_reader.h"

namespace upsweep {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

WGPUBufferBindingType binding_type(BindingKind kind, bool is_shared) {
  switch (kind) {
    case BindingKind::uniform: return WGPUBufferBindingType_Uniform;
    case BindingKind::storage_read:
      return is_shared ? WGPUBufferBindingType_Storage : WGPUBufferBindingType_ReadOnlyStorage;
    case BindingKind::storage_read_write: return WGPUBufferBindingType_Storage;
  }
  return WGPUBufferBindingType_Storage;
}

struct CompilerMessages {
  std::shared_ptr<const Kernel> kernel;
  std::string text;
  // Whose fault the first message is: library files end in .wgsl, everything else is made of what the caller gave; a
  // name that is declared twice is one of the caller's, wherever it is met.
  ErrorKind kind = ErrorKind::internal;
  bool done = false;
  std::shared_ptr<ErrorInbox> late_to;  // set when nobody waits any more
};

constexpr std::string_view redeclared = "redeclaration of '";

// "redeclaration of 'tile_index'" in text of the caller's is his name meeting one of ours.
std::string explain_message(const Kernel& kernel, std::uint64_t line, const std::string& message) {
  const std::string where = kernel.locate(static_cast<std::uint32_t>(line));
  const auto at = message.find(redeclared);
  if (at != std::string::npos) {
    const auto start = at + redeclared.size();
    const std::string name = message.substr(start, message.find('\'', start) - start);
    return std::format(
        "{}: \"{}\" is declared twice; the operator, the type or the transform declares a name that the "
        "library uses.",
        where, name);
  }
  return std::format("{}: {}", where, message);
}

void collect_messages(WGPUCompilationInfoRequestStatus, const WGPUCompilationInfo* info, void* userdata, void*) {
  auto* messages = static_cast<CompilerMessages*>(userdata);
  messages->done = true;
  for (std::size_t i = 0; info != nullptr && i < info->messageCount; ++i) {
    const WGPUCompilationMessage& message = info->messages[i];
    if (message.type != WGPUCompilationMessageType_Error) continue;
    const bool is_first = messages->text.empty();
    messages->text += "\n   " + explain_message(*messages->kernel, message.lineNum, from_wgpu(message.message));
    const std::string where = messages->kernel->locate(static_cast<std::uint32_t>(message.lineNum));
    const bool is_callers = !where.contains(".wgsl:") || from_wgpu(message.message).contains(redeclared);
    if (is_first && is_callers) messages->kind = ErrorKind::invalid_request;
  }
  if (messages->late_to == nullptr) return;
  if (!messages->text.empty()) messages->late_to->put({messages->kind, std::move(messages->text)});
  delete messages;
}

// What the compiler says of the module, with lines in the files and texts that it was assembled from.
Error compiler_error(const Context::Impl& context, WGPUShaderModule module,
                     const std::shared_ptr<const Kernel>& kernel) {
  // On the heap: without an instance the callback may come later than this call returns.
  auto messages = std::make_unique<CompilerMessages>();
  messages->kernel = kernel;
  WGPUCompilationInfoCallbackInfo callback = WGPU_COMPILATION_INFO_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_AllowSpontaneous;
  callback.callback = collect_messages;
  callback.userdata1 = messages.get();
  const WGPUFuture future = wgpuShaderModuleGetCompilationInfo(module, callback);
  if (!messages->done && !context.waiter.wait(future, messages->done)) {
    messages->late_to = context.inbox;
    (void)messages.release();
    return {};
  }
  return {messages->kind, messages->text};
}

struct Parts {
  ShaderModuleHandle module;
  BindGroupLayoutHandle layout;
  PipelineLayoutHandle pipeline_layout;
};

Parts create_parts(WGPUDevice device, const Pipeline& pipeline) {
  const Kernel& kernel = *pipeline.kernel;
  Parts parts;
  WGPUShaderSourceWGSL source = WGPU_SHADER_SOURCE_WGSL_INIT;
  source.code = to_wgpu(pipeline.text);
  WGPUShaderModuleDescriptor module = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
  module.nextInChain = &source.chain;
  const std::string label = "upsweep." + kernel.name;
  module.label = to_wgpu(label);
  parts.module = ShaderModuleHandle(wgpuDeviceCreateShaderModule(device, &module));

  std::vector<WGPUBindGroupLayoutEntry> entries;
  for (const KernelBinding& binding : kernel.bindings) {
    WGPUBindGroupLayoutEntry entry = WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT;
    entry.binding = binding.index;
    entry.visibility = WGPUShaderStage_Compute;
    entry.buffer.type = binding_type(binding.kind, (pipeline.shared >> binding.index & 1u) != 0);
    entries.push_back(entry);
  }
  WGPUBindGroupLayoutDescriptor layout = WGPU_BIND_GROUP_LAYOUT_DESCRIPTOR_INIT;
  layout.label = to_wgpu(label);
  layout.entryCount = entries.size();
  layout.entries = entries.data();
  parts.layout = BindGroupLayoutHandle(wgpuDeviceCreateBindGroupLayout(device, &layout));

  WGPUBindGroupLayout layouts[] = {parts.layout.get()};
  WGPUPipelineLayoutDescriptor pipeline_layout = WGPU_PIPELINE_LAYOUT_DESCRIPTOR_INIT;
  pipeline_layout.label = to_wgpu(label);
  pipeline_layout.bindGroupLayoutCount = 1;
  pipeline_layout.bindGroupLayouts = layouts;
  parts.pipeline_layout = PipelineLayoutHandle(wgpuDeviceCreatePipelineLayout(device, &pipeline_layout));
  return parts;
}

std::unique_ptr<Pipeline> new_pipeline(const std::shared_ptr<const Kernel>& kernel, SharedBindings shared) {
  auto pipeline = std::make_unique<Pipeline>();
  pipeline->kernel = kernel;
  pipeline->shared = shared;
  pipeline->text = kernel->text;
  for (const KernelBinding& binding : kernel->bindings) {
    if ((shared >> binding.index & 1u) != 0) pipeline->text = with_shared_access(pipeline->text, binding.index);
  }
  return pipeline;
}

std::unexpected<Error> pipeline_error(const Kernel& kernel, const Error& compiler, const std::string& device) {
  return fail(compiler.kind, std::format("Kernel {} was refused by the device:{}", kernel.name,
                                         compiler.message.empty() ? " " + device : compiler.message));
}

}  // namespace

Pipeline* PipelineCache::find(const Kernel& kernel, SharedBindings shared) {
  const auto bucket = pipelines_.find(kernel.text_hash);
  if (bucket == pipelines_.end()) return nullptr;
  for (const auto& pipeline : bucket->second) {
    const bool same_text = pipeline->kernel.get() == &kernel || pipeline->kernel->text == kernel.text;
    if (same_text && pipeline->shared == shared) return pipeline.get();
  }
  return nullptr;
}

PipelineCache::Progress PipelineCache::progress_of(const Kernel& kernel, SharedBindings shared) {
  const Pipeline* known = find(kernel, shared);
  if (known == nullptr) return Progress::absent;
  return known->pipeline ? Progress::ready : Progress::pending;
}

Result<const Pipeline*> PipelineCache::get(Context::Impl& context, const std::shared_ptr<const Kernel>& kernel,
                                           SharedBindings shared) {
  Pipeline* known = find(*kernel, shared);
  if (known != nullptr && known->pipeline) return known;
  const auto start = Clock::now();
  if (known != nullptr && !known->is_settled && context.waiter.can_wait()) {
    is_recording_ = true;
    context.waiter.wait(known->creation, known->is_settled);
    is_recording_ = false;
    context.statistics.pipeline_milliseconds += milliseconds_since(start);
    if (known->pipeline) return known;
  }
  auto pipeline = new_pipeline(kernel, shared);
  ErrorScope scope(context);
  Parts parts = create_parts(context.device.get(), *pipeline);
  WGPUComputePipelineDescriptor descriptor = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
  const std::string label = "upsweep." + kernel->name;
  descriptor.label = to_wgpu(label);
  descriptor.layout = parts.pipeline_layout.get();
  descriptor.compute.module = parts.module.get();
  descriptor.compute.entryPoint = to_wgpu(kernel->entry);
  pipeline->pipeline = PipelineHandle(wgpuDeviceCreateComputePipeline(context.device.get(), &descriptor));
  pipeline->layout = std::move(parts.layout);
  const std::string message = scope.pop();
  if (!message.empty() || !pipeline->pipeline) {
    return pipeline_error(*kernel, compiler_error(context, parts.module.get(), kernel), message);
  }
  context.statistics.pipelines_created += 1;
  context.statistics.pipeline_milliseconds += milliseconds_since(start);
  if (known != nullptr) {
    // It was being created asynchronously; this one came first.
    known->pipeline = std::move(pipeline->pipeline);
    known->layout = std::move(pipeline->layout);
    return known;
  }
  auto& bucket = pipelines_[kernel->text_hash];
  bucket.push_back(std::move(pipeline));
  return bucket.back().get();
}

namespace {

struct AsyncCreation {
  Pipeline* pipeline = nullptr;
  Context::Impl* context = nullptr;
  std::weak_ptr<const bool> context_lives;  // with the caller's instance, this call may come after the context's end
  std::shared_ptr<const Kernel> kernel;
  ShaderModuleHandle module;
};

void finish_creation(WGPUCreatePipelineAsyncStatus result, WGPUComputePipeline raw, WGPUStringView message,
                     void* userdata, void*) {
  const std::unique_ptr<AsyncCreation> creation(static_cast<AsyncCreation*>(userdata));
  PipelineHandle created(raw);
  Status status;
  if (creation->context_lives.expired()) return;  // cancel() has told who waited
  Pipeline& pipeline = *creation->pipeline;
  if (result == WGPUCreatePipelineAsyncStatus_Success) {
    // One that was needed at once may have come first.
    if (!pipeline.pipeline) {
      pipeline.pipeline = std::move(created);
      creation->context->statistics.pipelines_created += 1;
    }
  } else {
    status =
        pipeline_error(*creation->kernel, compiler_error(*creation->context, creation->module.get(), creation->kernel),
                       from_wgpu(message));
  }
  creation->context->pipelines.settle(pipeline, status);
}

}  // namespace

void PipelineCache::get_async(Context::Impl& context, const std::shared_ptr<const Kernel>& kernel,
                              std::function<void(Status)> ready) {
  begin(context, kernel, 0, std::move(ready));
}

void PipelineCache::begin(Context::Impl& context, const std::shared_ptr<const Kernel>& kernel, SharedBindings shared,
                          std::function<void(Status)> ready) {
  Pipeline* known = find(*kernel, shared);
  if (known != nullptr && known->pipeline) {
    ready({});
    return;
  }
  if (known != nullptr && !known->is_settled) {
    known->waiting.push_back(std::move(ready));
    return;
  }
  if (known == nullptr) {
    auto& bucket = pipelines_[kernel->text_hash];
    bucket.push_back(new_pipeline(kernel, shared));
    known = bucket.back().get();
  }
  ErrorScope scope(context);
  Parts parts = create_parts(context.device.get(), *known);
  const std::string message = scope.pop();
  if (!message.empty()) {
    ready(pipeline_error(*kernel, compiler_error(context, parts.module.get(), kernel), message));
    return;
  }
  if (!known->layout) known->layout = std::move(parts.layout);
  known->waiting.push_back(std::move(ready));
  WGPUComputePipelineDescriptor descriptor = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
  const std::string label = "upsweep." + kernel->name;
  descriptor.label = to_wgpu(label);
  descriptor.layout = parts.pipeline_layout.get();
  descriptor.compute.module = parts.module.get();
  descriptor.compute.entryPoint = to_wgpu(kernel->entry);
  WGPUCreateComputePipelineAsyncCallbackInfo callback = WGPU_CREATE_COMPUTE_PIPELINE_ASYNC_CALLBACK_INFO_INIT;
  // From poll(), wait() or get(): never on a thread of the device's.
  callback.mode = WGPUCallbackMode_AllowProcessEvents;
  callback.callback = finish_creation;
  callback.userdata1 = new AsyncCreation{known, &context, context.lives, kernel, std::move(parts.module)};
  known->is_settled = false;
  known->creation = wgpuDeviceCreateComputePipelineAsync(context.device.get(), &descriptor, callback);
}

void PipelineCache::begin_all(Context::Impl& context, std::span<const WantedPipeline> wanted) {
  if (!context.waiter.can_wait() || wanted.size() < 2) return;
  for (const WantedPipeline& one : wanted) {
    if (find(*one.kernel, one.shared) == nullptr) begin(context, one.kernel, one.shared, [](const Status&) {});
  }
}

void PipelineCache::settle(Pipeline& pipeline, const Status& status) {
  pipeline.is_settled = true;
  for (auto& ready : std::exchange(pipeline.waiting, {})) untold_.push_back({std::move(ready), status});
  if (!is_recording_) tell();
}

void PipelineCache::tell() {
  // They may use the context, even destroy it.
  for (const Untold& one : std::exchange(untold_, {})) one.ready(one.status);
}

void PipelineCache::cancel() {
  for (const auto& [hash, bucket] : pipelines_) {
    for (const auto& pipeline : bucket) {
      for (auto& ready : std::exchange(pipeline->waiting, {})) {
        untold_.push_back(
            {std::move(ready), fail(ErrorKind::device, "The context was destroyed before the pipeline was ready.")});
      }
    }
  }
  tell();
}

}  // namespace upsweep
