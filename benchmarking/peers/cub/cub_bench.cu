// Times NVIDIA CUB's device-wide primitives. README.md says what is measured and why.

#include <cuda_runtime.h>
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <cub/device/device_select.cuh>
#include <cub/version.cuh>
#include <cuda/std/functional>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace {

constexpr uint32_t seed = 1;
constexpr uint32_t copy_words = 1u << 26;
constexpr uint32_t read_words = 1u << 28;
constexpr uint32_t max_items = 1u << 30;
constexpr int block_threads = 256;
constexpr int warm_up_calls = 3;
constexpr double warm_ms = 120.0;
constexpr double amortised_ms = 5.0;
constexpr int max_repeats = 8192;
constexpr double low_clock = 0.9;
constexpr int probe_multiplies = 1 << 18;
// Relative to a double sum. A single-precision tree sum of 2^30 items in [0, 1) stays well below.
constexpr double f32_tolerance = 1e-5;
// Of a scan: totals of tiles are added one after the other, thousands of them in the worst case.
constexpr float f32_scan_tolerance = 1e-4f;

// The spin kernel ahead of every sample outlasts the host's submission of the timed work, so that
// launch latency stays out. One graph launch of thousands of nodes takes the host longer.
constexpr double call_lead_us = 100.0;
constexpr double graph_lead_us = 5000.0;

void check(cudaError_t code, const char* expression, int line) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "cub_bench.cu:%d: %s: %s (%s)\n", line, expression, cudaGetErrorString(code),
               cudaGetErrorName(code));
  std::exit(3);
}
#define CUDA_CHECK(expression) check((expression), #expression, __LINE__)

// ---- input ----------------------------------------------------------------------------------

__host__ __device__ inline uint32_t input_hash(uint32_t i) {
  uint32_t h = i * 2654435761u + seed;
  h = (h ^ (h >> 15)) * 2246822519u;
  h = (h ^ (h >> 13)) * 3266489917u;
  return h ^ (h >> 16);
}

// u64 items are the u32 items two by two, the first in the low half.
template <typename T>
__host__ __device__ inline T input_item(uint32_t i) {
  if constexpr (std::is_same<T, float>::value) {
    return static_cast<float>(input_hash(i) >> 8) * (1.0f / 16777216.0f);
  } else if constexpr (std::is_same<T, uint64_t>::value) {
    return input_hash(2 * i) | static_cast<uint64_t>(input_hash(2 * i + 1)) << 32;
  } else {
    return input_hash(i);
  }
}

// A run begins at item 0 and at every item whose hash is a multiple of 4: a run has 4 items on average, a quarter of
// them one, one in a hundred 17 or more. The hash is a bijection, so neighbouring runs differ in the key.
__host__ __device__ inline bool begins_run(uint32_t i) { return i == 0 || input_hash(i) % 4 == 0; }

// The hash of the first item of the run.
__host__ __device__ inline uint32_t run_key(uint32_t i) {
  while (!begins_run(i)) --i;
  return input_hash(i);
}

struct in_lower_half {
  __host__ __device__ bool operator()(uint32_t x) const { return x < 0x80000000u; }
};

// ---- kernels --------------------------------------------------------------------------------

template <typename T>
__global__ void fill_kernel(T* out, uint32_t items) {
  const uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += stride) {
    out[i] = input_item<T>(i);
  }
}

__global__ void fill_runs_kernel(uint32_t* out, uint32_t items) {
  const uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += stride) {
    out[i] = run_key(i);
  }
}

__host__ __device__ inline bool are_alike(uint32_t got, uint32_t expected, float*) { return got == expected; }
__host__ __device__ inline bool are_alike(uint64_t got, uint64_t expected, float*) { return got == expected; }
__host__ __device__ inline bool are_alike(float got, float expected, float* relative_error) {
  const float error = fabsf(got - expected);
  *relative_error = expected == 0.0f ? error : error / fabsf(expected);
  return *relative_error <= f32_scan_tolerance;
}

struct differences {
  unsigned long long items;
  uint32_t largest_relative_error;  // bits of a float that is not negative, which order as integers do
};

template <typename T>
__global__ void compare_kernel(const T* got, const T* expected, uint32_t items, differences* found) {
  const uint32_t stride = gridDim.x * blockDim.x;
  unsigned long long wrong = 0;
  float largest = 0.0f;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += stride) {
    float relative_error = 0.0f;
    if (!are_alike(got[i], expected[i], &relative_error)) ++wrong;
    largest = fmaxf(largest, relative_error);
  }
  if (wrong > 0) atomicAdd(&found->items, wrong);
  if (largest > 0.0f) atomicMax(&found->largest_relative_error, __float_as_uint(largest));
}

__global__ void copy_kernel(const uint4* in, uint4* out, uint32_t vectors) {
  const uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += stride) {
    out[i] = in[i];
  }
}

__device__ inline uint32_t lane_sum(uint4 v) { return v.x + v.y + v.z + v.w; }

__global__ void read_kernel(const uint4* in, uint32_t* sum_out, uint32_t vectors) {
  const uint32_t stride = gridDim.x * blockDim.x;
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t sum = 0;
  // Four loads in flight per thread.
  for (; i + 3 * stride < vectors; i += 4 * stride) {
    const uint4 a = in[i];
    const uint4 b = in[i + stride];
    const uint4 c = in[i + 2 * stride];
    const uint4 d = in[i + 3 * stride];
    sum += lane_sum(a) + lane_sum(b) + lane_sum(c) + lane_sum(d);
  }
  for (; i < vectors; i += stride) sum += lane_sum(in[i]);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(sum_out, sum);
}

__global__ void spin_kernel(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

// Each multiply waits for the one before, so elapsed time follows the SM clock and nothing else.
// The chain begins at the first clock value and is stored before the second is read, so that the
// compiler cannot move it out from between them.
__global__ void probe_kernel(uint32_t multiplier, long long* cycles_out, volatile uint32_t* value_out) {
  const long long start = clock64();
  uint32_t x = static_cast<uint32_t>(start);
#pragma unroll 16
  for (int i = 0; i < probe_multiplies; ++i) x = x * multiplier + 1u;
  *value_out = x;
  *cycles_out = clock64() - start;
}

// ---- timing ---------------------------------------------------------------------------------

struct timing {
  int samples = 0;
  double median_ms = 0.0;
  double min_ms = 0.0;
  double max_ms = 0.0;
};

std::shared_ptr<void> device_allocate(size_t bytes) {
  void* pointer = nullptr;
  CUDA_CHECK(cudaMalloc(&pointer, bytes));
  return std::shared_ptr<void>(pointer, [](void* p) { CUDA_CHECK(cudaFree(p)); });
}

struct bench {
  int multiprocessors = 0;
  std::string device_name;
  cudaStream_t stream = nullptr;
  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
  std::shared_ptr<void> input;
  std::shared_ptr<void> output;
  std::shared_ptr<void> probe_cycles;
  std::shared_ptr<void> probe_value;
  double reference_mhz = 0.0;
  int samples = 21;
};

using work = std::function<void(cudaStream_t)>;

double elapsed_ms(bench& b, const work& enqueue, double lead_us) {
  const long long cycles = static_cast<long long>(lead_us * b.reference_mhz);
  if (cycles > 0) {
    spin_kernel<<<b.multiprocessors, 128, 0, b.stream>>>(cycles);
    CUDA_CHECK(cudaGetLastError());
  }
  CUDA_CHECK(cudaEventRecord(b.start, b.stream));
  enqueue(b.stream);
  CUDA_CHECK(cudaEventRecord(b.stop, b.stream));
  CUDA_CHECK(cudaEventSynchronize(b.stop));
  float ms = 0.0f;
  CUDA_CHECK(cudaEventElapsedTime(&ms, b.start, b.stop));
  return static_cast<double>(ms);
}

double probe_mhz(bench& b) {
  const double ms = elapsed_ms(
      b,
      [&](cudaStream_t stream) {
        long long* cycles_out = static_cast<long long*>(b.probe_cycles.get());
        uint32_t* value_out = static_cast<uint32_t*>(b.probe_value.get());
        probe_kernel<<<1, 1, 0, stream>>>(2654435761u, cycles_out, value_out);
        CUDA_CHECK(cudaGetLastError());
      },
      0.0);
  long long cycles = 0;
  CUDA_CHECK(cudaMemcpy(&cycles, b.probe_cycles.get(), sizeof(cycles), cudaMemcpyDeviceToHost));
  return static_cast<double>(cycles) / (ms * 1e3);
}

void launch_copy(bench& b, int blocks, cudaStream_t stream) {
  copy_kernel<<<blocks, block_threads, 0, stream>>>(static_cast<const uint4*>(b.input.get()),
                                                    static_cast<uint4*>(b.output.get()), copy_words / 4);
  CUDA_CHECK(cudaGetLastError());
}

void keep_busy(bench& b, double ms) {
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double, std::milli> spent{0.0};
  while (spent.count() < ms) {
    for (int i = 0; i < 64; ++i) launch_copy(b, b.multiprocessors * 16, b.stream);
    CUDA_CHECK(cudaStreamSynchronize(b.stream));
    spent = std::chrono::steady_clock::now() - begin;
  }
}

bool clock_is_up(bench& b) { return probe_mhz(b) >= low_clock * b.reference_mhz; }

void warm_clocks(bench& b) {
  for (int round = 0; round < 5; ++round) {
    keep_busy(b, warm_ms);
    if (clock_is_up(b)) return;
  }
}

timing measure(bench& b, const work& enqueue, double lead_us) {
  std::vector<double> ms(static_cast<size_t>(b.samples));
  bool up = false;
  for (int attempt = 0; attempt < 2 && !up; ++attempt) {
    warm_clocks(b);
    for (int i = 0; i < warm_up_calls; ++i) enqueue(b.stream);
    CUDA_CHECK(cudaStreamSynchronize(b.stream));
    for (double& sample : ms) sample = elapsed_ms(b, enqueue, lead_us);
    up = clock_is_up(b);
  }
  if (!up) std::fprintf(stderr, "WARNING: the SM clock was low after the samples that follow\n");
  std::sort(ms.begin(), ms.end());
  const size_t half = ms.size() / 2;
  timing t;
  t.samples = b.samples;
  t.median_ms = ms.size() % 2 == 1 ? ms[half] : 0.5 * (ms[half - 1] + ms[half]);
  t.min_ms = ms.front();
  t.max_ms = ms.back();
  return t;
}

timing divided(timing t, int repeats) {
  t.median_ms /= repeats;
  t.min_ms /= repeats;
  t.max_ms /= repeats;
  return t;
}

double gb_per_s(uint64_t bytes, double ms) { return ms > 0.0 ? static_cast<double>(bytes) / (ms * 1e6) : 0.0; }

// ---- primitives -----------------------------------------------------------------------------

struct verdict {
  bool correct = false;
  double relative_error = 0.0;
};

struct range {
  void* begin = nullptr;
  size_t bytes = 0;
};

// One primitive, ready to run at one size.
struct job {
  work enqueue;
  std::function<verdict()> verify;
  std::vector<range> outputs;
  uint64_t bytes_moved = 0;
  bool waits = false;  // for the device, in the call: no graph can hold it
};

template <typename T>
void fill_input(bench& b, uint32_t items) {
  fill_kernel<T><<<b.multiprocessors * 16, block_threads, 0, b.stream>>>(static_cast<T*>(b.input.get()), items);
  CUDA_CHECK(cudaGetLastError());
}

uint32_t host_sum_u32(uint32_t items) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < items; ++i) sum += input_item<uint32_t>(i);
  return sum;
}

double host_sum_f32(uint32_t items) {
  double sum = 0.0;
  for (uint32_t i = 0; i < items; ++i) sum += static_cast<double>(input_item<float>(i));
  return sum;
}

// A call of the library with its temporary storage: call(temporary, its bytes, stream).
template <typename Call>
work with_temporary(bench& b, Call call) {
  size_t needed = 0;
  CUDA_CHECK(call(nullptr, needed, b.stream));
  const std::shared_ptr<void> temporary = device_allocate(std::max<size_t>(needed, 1));
  return [=](cudaStream_t stream) {
    size_t bytes = needed;
    CUDA_CHECK(call(temporary.get(), bytes, stream));
  };
}

// What an array on the device should hold, there as well, since comparing 2^28 items on the host takes seconds.
template <typename T>
class expectation {
 public:
  expectation(const T* got, const std::vector<T>& items)
      : got_(got),
        items_(static_cast<uint32_t>(items.size())),
        expected_(device_allocate(std::max<size_t>(items.size() * sizeof(T), 1))),
        found_(device_allocate(sizeof(differences))) {
    CUDA_CHECK(cudaMemcpy(expected_.get(), items.data(), items.size() * sizeof(T), cudaMemcpyHostToDevice));
  }

  verdict verify() const {
    CUDA_CHECK(cudaMemset(found_.get(), 0, sizeof(differences)));
    if (items_ > 0) {
      compare_kernel<T><<<1024, block_threads>>>(got_, static_cast<const T*>(expected_.get()), items_,
                                                 static_cast<differences*>(found_.get()));
      CUDA_CHECK(cudaGetLastError());
    }
    differences found{};
    CUDA_CHECK(cudaMemcpy(&found, found_.get(), sizeof(found), cudaMemcpyDeviceToHost));
    float relative_error = 0.0f;
    std::memcpy(&relative_error, &found.largest_relative_error, sizeof(relative_error));
    return {found.items == 0, static_cast<double>(relative_error)};
  }

 private:
  const T* got_;
  uint32_t items_;
  std::shared_ptr<void> expected_;
  std::shared_ptr<void> found_;
};

template <typename T>
job make_reduce_sum(bench& b, uint32_t items) {
  fill_input<T>(b, items);
  const T* in = static_cast<const T*>(b.input.get());
  T* out = static_cast<T*>(b.output.get());

  job j;
  j.outputs = {{out, sizeof(T)}};
  j.bytes_moved = static_cast<uint64_t>(items) * sizeof(T);
  j.enqueue = with_temporary(b, [=](void* temporary, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceReduce::Sum(temporary, bytes, in, out, items, stream);
  });
  if constexpr (std::is_same<T, float>::value) {
    const double expected = host_sum_f32(items);
    j.verify = [=]() {
      float got = 0.0f;
      CUDA_CHECK(cudaMemcpy(&got, out, sizeof(got), cudaMemcpyDeviceToHost));
      verdict v;
      v.relative_error = std::fabs(static_cast<double>(got) - expected) / std::fabs(expected);
      v.correct = v.relative_error <= f32_tolerance;
      return v;
    };
  } else {
    const uint32_t expected = host_sum_u32(items);
    j.verify = [=]() {
      uint32_t got = 0;
      CUDA_CHECK(cudaMemcpy(&got, out, sizeof(got), cudaMemcpyDeviceToHost));
      verdict v;
      v.correct = got == expected;
      return v;
    };
  }
  return j;
}

template <typename T>
job make_exclusive_sum(bench& b, uint32_t items) {
  fill_input<T>(b, items);
  const T* in = static_cast<const T*>(b.input.get());
  T* out = static_cast<T*>(b.output.get());
  std::vector<T> expected(items);
  using sum_type = std::conditional_t<std::is_same<T, float>::value, double, T>;
  sum_type sum = 0;
  for (uint32_t i = 0; i < items; ++i) {
    expected[i] = static_cast<T>(sum);
    sum += input_item<T>(i);
  }
  const expectation<T> sums(out, expected);

  job j;
  j.outputs = {{out, items * sizeof(T)}};
  j.bytes_moved = 2 * static_cast<uint64_t>(items) * sizeof(T);
  j.enqueue = with_temporary(b, [=](void* temporary, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceScan::ExclusiveSum(temporary, bytes, in, out, items, stream);
  });
  j.verify = [=]() { return sums.verify(); };
  return j;
}

// Keys in runs, values, results, and a word for a count.
struct run_buffers {
  std::shared_ptr<void> keys;
  std::shared_ptr<void> second_output;
  std::shared_ptr<void> count;
};

run_buffers make_run_buffers(bench& b, uint32_t items) {
  const size_t bytes = items * sizeof(uint32_t);
  run_buffers buffers{device_allocate(bytes), device_allocate(bytes), device_allocate(sizeof(uint32_t))};
  fill_runs_kernel<<<b.multiprocessors * 16, block_threads, 0, b.stream>>>(static_cast<uint32_t*>(buffers.keys.get()),
                                                                           items);
  CUDA_CHECK(cudaGetLastError());
  return buffers;
}

// Of each run: its key, its length, and the sum of the values that lie beside it.
struct host_runs {
  std::vector<uint32_t> keys;
  std::vector<uint32_t> lengths;
  std::vector<uint32_t> sums;
};

host_runs find_host_runs(uint32_t items) {
  host_runs runs;
  for (uint32_t i = 0; i < items; ++i) {
    const uint32_t value = input_item<uint32_t>(i);
    if (begins_run(i)) {
      runs.keys.push_back(value);
      runs.lengths.push_back(0);
      runs.sums.push_back(0);
    }
    ++runs.lengths.back();
    runs.sums.back() += value;
  }
  return runs;
}

verdict both(const verdict& a, const verdict& b) {
  return {a.correct && b.correct, std::max(a.relative_error, b.relative_error)};
}

job make_inclusive_sum_by_key(bench& b, uint32_t items) {
  fill_input<uint32_t>(b, items);
  const run_buffers buffers = make_run_buffers(b, items);
  const uint32_t* keys = static_cast<const uint32_t*>(buffers.keys.get());
  const uint32_t* in = static_cast<const uint32_t*>(b.input.get());
  uint32_t* out = static_cast<uint32_t*>(b.output.get());
  std::vector<uint32_t> expected(items);
  for (uint32_t i = 0; i < items; ++i) {
    expected[i] = input_item<uint32_t>(i) + (begins_run(i) ? 0 : expected[i - 1]);
  }
  const expectation<uint32_t> sums(out, expected);

  job j;
  j.outputs = {{out, items * sizeof(uint32_t)}};
  j.bytes_moved = 3 * static_cast<uint64_t>(items) * sizeof(uint32_t);
  const work call = with_temporary(b, [=](void* temporary, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceScan::InclusiveSumByKey(temporary, bytes, keys, in, out, items, cuda::std::equal_to<>{}, stream);
  });
  j.enqueue = [=, keep = buffers](cudaStream_t stream) { call(stream); };
  j.verify = [=]() { return sums.verify(); };
  return j;
}

job make_select_half(bench& b, uint32_t items) {
  fill_input<uint32_t>(b, items);
  const uint32_t* in = static_cast<const uint32_t*>(b.input.get());
  uint32_t* out = static_cast<uint32_t*>(b.output.get());
  const std::shared_ptr<void> count_buffer = device_allocate(sizeof(uint32_t));
  uint32_t* count = static_cast<uint32_t*>(count_buffer.get());
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < items; ++i) {
    const uint32_t item = input_item<uint32_t>(i);
    if (in_lower_half{}(item)) expected.push_back(item);
  }
  const expectation<uint32_t> kept(out, expected);
  const expectation<uint32_t> kept_count(count, {static_cast<uint32_t>(expected.size())});

  job j;
  j.outputs = {{out, items * sizeof(uint32_t)}, {count, sizeof(uint32_t)}};
  j.bytes_moved = (static_cast<uint64_t>(items) + expected.size() + 1) * sizeof(uint32_t);
  const work call = with_temporary(b, [=](void* temporary, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceSelect::If(temporary, bytes, in, out, count, static_cast<int64_t>(items), in_lower_half{},
                                 stream);
  });
  j.enqueue = [=, keep = count_buffer](cudaStream_t stream) { call(stream); };
  j.verify = [=]() { return both(kept.verify(), kept_count.verify()); };
  return j;
}

job make_unique(bench& b, uint32_t items) {
  const run_buffers buffers = make_run_buffers(b, items);
  const uint32_t* keys = static_cast<const uint32_t*>(buffers.keys.get());
  uint32_t* out = static_cast<uint32_t*>(b.output.get());
  uint32_t* count = static_cast<uint32_t*>(buffers.count.get());
  const host_runs runs = find_host_runs(items);
  const expectation<uint32_t> unique_keys(out, runs.keys);
  const expectation<uint32_t> run_count(count, {static_cast<uint32_t>(runs.keys.size())});

  job j;
  j.outputs = {{out, items * sizeof(uint32_t)}, {count, sizeof(uint32_t)}};
  j.bytes_moved = (static_cast<uint64_t>(items) + runs.keys.size() + 1) * sizeof(uint32_t);
  const work call = with_temporary(b, [=](void* temporary, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceSelect::Unique(temporary, bytes, keys, out, count, static_cast<int64_t>(items), stream);
  });
  j.enqueue = [=, keep = buffers](cudaStream_t stream) { call(stream); };
  j.verify = [=]() { return both(unique_keys.verify(), run_count.verify()); };
  return j;
}

job make_run_length(bench& b, uint32_t items) {
  const run_buffers buffers = make_run_buffers(b, items);
  const uint32_t* keys = static_cast<const uint32_t*>(buffers.keys.get());
  uint32_t* out = static_cast<uint32_t*>(b.output.get());
  uint32_t* lengths = static_cast<uint32_t*>(buffers.second_output.get());
  uint32_t* count = static_cast<uint32_t*>(buffers.count.get());
  const host_runs runs = find_host_runs(items);
  const expectation<uint32_t> run_values(out, runs.keys);
  const expectation<uint32_t> run_lengths(lengths, runs.lengths);
  const expectation<uint32_t> run_count(count, {static_cast<uint32_t>(runs.keys.size())});

  job j;
  const size_t bytes_each = items * sizeof(uint32_t);
  j.outputs = {{out, bytes_each}, {lengths, bytes_each}, {count, sizeof(uint32_t)}};
  j.bytes_moved = (static_cast<uint64_t>(items) + 2 * runs.keys.size() + 1) * sizeof(uint32_t);
  const work call = with_temporary(b, [=](void* temporary, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceRunLengthEncode::Encode(temporary, bytes, keys, out, lengths, count, static_cast<int>(items),
                                              stream);
  });
  j.enqueue = [=, keep = buffers](cudaStream_t stream) { call(stream); };
  j.verify = [=]() { return both(both(run_values.verify(), run_lengths.verify()), run_count.verify()); };
  return j;
}

job make_reduce_by_key(bench& b, uint32_t items) {
  fill_input<uint32_t>(b, items);
  const run_buffers buffers = make_run_buffers(b, items);
  const uint32_t* keys = static_cast<const uint32_t*>(buffers.keys.get());
  const uint32_t* in = static_cast<const uint32_t*>(b.input.get());
  uint32_t* unique_keys = static_cast<uint32_t*>(b.output.get());
  uint32_t* sums = static_cast<uint32_t*>(buffers.second_output.get());
  uint32_t* count = static_cast<uint32_t*>(buffers.count.get());
  const host_runs runs = find_host_runs(items);
  const expectation<uint32_t> run_keys(unique_keys, runs.keys);
  const expectation<uint32_t> run_sums(sums, runs.sums);
  const expectation<uint32_t> run_count(count, {static_cast<uint32_t>(runs.keys.size())});

  job j;
  const size_t bytes_each = items * sizeof(uint32_t);
  j.outputs = {{unique_keys, bytes_each}, {sums, bytes_each}, {count, sizeof(uint32_t)}};
  j.bytes_moved = (2 * static_cast<uint64_t>(items) + 2 * runs.keys.size() + 1) * sizeof(uint32_t);
  const work call = with_temporary(b, [=](void* temporary, size_t& bytes, cudaStream_t stream) {
    return cub::DeviceReduce::ReduceByKey(temporary, bytes, keys, unique_keys, in, sums, count, cuda::std::plus<>{},
                                          static_cast<int>(items), stream);
  });
  j.enqueue = [=, keep = buffers](cudaStream_t stream) { call(stream); };
  j.verify = [=]() { return both(both(run_keys.verify(), run_sums.verify()), run_count.verify()); };
  return j;
}

// Spreads the bits of a key, so that the sum over a multiset tells it from others.
__host__ __device__ inline unsigned long long mixed(uint64_t key) {
  key = (key ^ (key >> 31)) * 0x7fb5d329728ea185ull;
  key = (key ^ (key >> 27)) * 0x81dadef4bc2dd44dull;
  return key ^ (key >> 33);
}

template <typename Key>
__device__ inline uint64_t bits_of(Key key) {
  if constexpr (std::is_same<Key, float>::value) return __float_as_uint(key);
  if constexpr (!std::is_same<Key, float>::value) return key;
}

struct sort_facts {
  unsigned long long faults;
  unsigned long long sum;
};

// Faults: keys below the one before, keys that are not those of their values, equal keys out of order.
template <typename Key>
__global__ void sorted_kernel(const Key* keys, const uint32_t* values, uint32_t items, sort_facts* facts) {
  const uint32_t stride = gridDim.x * blockDim.x;
  sort_facts mine{};
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += stride) {
    const Key key = keys[i];
    mine.sum += mixed(bits_of(key));
    if (i > 0 && key < keys[i - 1]) ++mine.faults;
    if (values == nullptr) continue;
    if (values[i] >= items || input_item<Key>(values[i]) != key) ++mine.faults;
    if (i > 0 && key == keys[i - 1] && values[i] <= values[i - 1]) ++mine.faults;
  }
  atomicAdd(&facts->faults, mine.faults);
  atomicAdd(&facts->sum, mine.sum);
}

__global__ void number_kernel(uint32_t* out, uint32_t items) {
  const uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += stride) out[i] = i;
}

template <typename Key>
sort_facts find_facts(const Key* keys, const uint32_t* values, uint32_t items) {
  const std::shared_ptr<void> found = device_allocate(sizeof(sort_facts));
  CUDA_CHECK(cudaMemset(found.get(), 0, sizeof(sort_facts)));
  sorted_kernel<Key><<<1024, block_threads>>>(keys, values, items, static_cast<sort_facts*>(found.get()));
  CUDA_CHECK(cudaGetLastError());
  sort_facts facts{};
  CUDA_CHECK(cudaMemcpy(&facts, found.get(), sizeof(facts), cudaMemcpyDeviceToHost));
  return facts;
}

template <typename Key, bool has_values, bool merges = false>
job make_sort(bench& b, uint32_t items) {
  fill_input<Key>(b, items);
  const Key* in = static_cast<const Key*>(b.input.get());
  Key* out = static_cast<Key*>(b.output.get());
  const std::shared_ptr<void> numbers = device_allocate(items * sizeof(uint32_t));
  const std::shared_ptr<void> sorted = device_allocate(items * sizeof(uint32_t));
  uint32_t* values_in = static_cast<uint32_t*>(numbers.get());
  uint32_t* values_out = static_cast<uint32_t*>(sorted.get());
  number_kernel<<<1024, block_threads, 0, b.stream>>>(values_in, items);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaStreamSynchronize(b.stream));
  const sort_facts wanted = find_facts<Key>(in, nullptr, items);

  job j;
  j.outputs = {{out, items * sizeof(Key)}};
  if (has_values) j.outputs.push_back({values_out, items * sizeof(uint32_t)});
  j.bytes_moved = 2 * static_cast<uint64_t>(items) * (sizeof(Key) + (has_values ? sizeof(uint32_t) : 0));
  const work call = with_temporary(b, [=](void* temporary, size_t& bytes, cudaStream_t stream) {
    constexpr int end_bit = static_cast<int>(sizeof(Key)) * 8;
    if constexpr (merges && has_values) {
      return cub::DeviceMergeSort::SortPairsCopy(temporary, bytes, in, values_in, out, values_out, items,
                                                 cuda::std::less<>{}, stream);
    } else if constexpr (merges) {
      return cub::DeviceMergeSort::SortKeysCopy(temporary, bytes, in, out, items, cuda::std::less<>{}, stream);
    } else if constexpr (has_values) {
      return cub::DeviceRadixSort::SortPairs(temporary, bytes, in, out, values_in, values_out, items, 0, end_bit,
                                             stream);
    } else {
      return cub::DeviceRadixSort::SortKeys(temporary, bytes, in, out, items, 0, end_bit, stream);
    }
  });
  j.enqueue = [=, keep_in = numbers, keep_out = sorted](cudaStream_t stream) { call(stream); };
  j.verify = [=, keep_out = sorted]() {
    const sort_facts facts = find_facts<Key>(out, has_values ? values_out : nullptr, items);
    return verdict{facts.faults == 0 && facts.sum == wanted.sum, 0.0};
  };
  return j;
}

// Segments `mean` items apart on average, as segment_begin() of benchmarking/input.h.
template <bool has_values, uint32_t mean>
job make_segmented_sort(bench& b, uint32_t items) {
  fill_input<uint32_t>(b, items);
  const uint32_t* in = static_cast<const uint32_t*>(b.input.get());
  uint32_t* out = static_cast<uint32_t*>(b.output.get());
  const uint32_t segments = items / mean + 1;
  std::vector<uint32_t> offsets(segments + 1);
  for (uint32_t s = 1; s <= segments; ++s) {
    offsets[s] =
        static_cast<uint32_t>(std::min<uint64_t>(static_cast<uint64_t>(s) * mean + input_hash(s) % mean, items));
  }
  const std::shared_ptr<void> offset_memory = device_allocate(offsets.size() * sizeof(uint32_t));
  CUDA_CHECK(
      cudaMemcpy(offset_memory.get(), offsets.data(), offsets.size() * sizeof(uint32_t), cudaMemcpyHostToDevice));
  const uint32_t* offset_list = static_cast<const uint32_t*>(offset_memory.get());
  const std::shared_ptr<void> numbers = device_allocate(items * sizeof(uint32_t));
  const std::shared_ptr<void> sorted = device_allocate(items * sizeof(uint32_t));
  uint32_t* values_in = static_cast<uint32_t*>(numbers.get());
  uint32_t* values_out = static_cast<uint32_t*>(sorted.get());
  number_kernel<<<1024, block_threads, 0, b.stream>>>(values_in, items);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaStreamSynchronize(b.stream));
  std::vector<uint32_t> expected(items);
  for (uint32_t i = 0; i < items; ++i) expected[i] = input_hash(i);
  for (uint32_t s = 0; s < segments; ++s) std::sort(expected.begin() + offsets[s], expected.begin() + offsets[s + 1]);
  const expectation<uint32_t> keys(out, expected);

  job j;
  j.outputs = {{out, items * sizeof(uint32_t)}};
  if (has_values) j.outputs.push_back({values_out, items * sizeof(uint32_t)});
  j.bytes_moved = 8 * static_cast<uint64_t>(items) * (has_values ? 2 : 1);
  j.waits = true;
  const work call = with_temporary(b, [=](void* temporary, size_t& bytes, cudaStream_t stream) {
    if constexpr (has_values) {
      return cub::DeviceSegmentedSort::StableSortPairs(temporary, bytes, in, out, values_in, values_out, items,
                                                       segments, offset_list, offset_list + 1, stream);
    } else {
      return cub::DeviceSegmentedSort::SortKeys(temporary, bytes, in, out, items, segments, offset_list,
                                                offset_list + 1, stream);
    }
  });
  j.enqueue = [=, keep_in = numbers, keep_out = sorted, keep_offsets = offset_memory](cudaStream_t stream) {
    call(stream);
  };
  j.verify = [=]() { return keys.verify(); };
  return j;
}

__global__ void odd_kernel(uint32_t* out, uint32_t items) {
  const uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += stride) out[i] = 2 * i + 1;
}

// As many queries as items; item i is 2 i + 1. Thrust's, since CUB has no search.
template <bool is_sorted>
job make_search(bench& b, uint32_t items) {
  const std::shared_ptr<void> item_memory = device_allocate(items * sizeof(uint32_t));
  const std::shared_ptr<void> query_memory = device_allocate(items * sizeof(uint32_t));
  uint32_t* in = static_cast<uint32_t*>(item_memory.get());
  uint32_t* queries = static_cast<uint32_t*>(query_memory.get());
  uint32_t* out = static_cast<uint32_t*>(b.output.get());
  std::vector<uint32_t> words(items);
  std::vector<uint32_t> expected(items);
  for (uint32_t i = 0; i < items; ++i) {
    const uint64_t draw = static_cast<uint64_t>(input_hash(i)) * (2 * static_cast<uint64_t>(items) + 2) >> 32;
    words[i] = is_sorted ? 2 * i + i % 2 : static_cast<uint32_t>(draw);
    expected[i] = std::min(words[i] / 2, items);
  }
  odd_kernel<<<1024, block_threads, 0, b.stream>>>(in, items);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(queries, words.data(), items * sizeof(uint32_t), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaStreamSynchronize(b.stream));
  const expectation<uint32_t> positions(out, expected);

  job j;
  j.outputs = {{out, items * sizeof(uint32_t)}};
  j.bytes_moved = 2 * static_cast<uint64_t>(items) * sizeof(uint32_t);
  j.enqueue = [=, keep_items = item_memory, keep_queries = query_memory](cudaStream_t stream) {
    thrust::lower_bound(thrust::cuda::par_nosync.on(stream), in, in + items, queries, queries + items, out);
  };
  j.verify = [=]() { return positions.verify(); };
  return j;
}

// Even bins of f32 samples in [0, 1), or of the bytes of the u32 input. The number of bins is a power of two, so that
// the expected bin is exact.
template <typename Sample, uint32_t bins>
job make_histogram(bench& b, uint32_t items) {
  constexpr bool is_bytes = std::is_same<Sample, uint8_t>::value;
  using input_type = std::conditional_t<is_bytes, uint32_t, float>;
  fill_input<input_type>(b, is_bytes ? items / 4 + 1 : items);
  const Sample* in = static_cast<const Sample*>(b.input.get());
  uint32_t* out = static_cast<uint32_t*>(b.output.get());
  std::vector<uint32_t> expected(bins);
  for (uint32_t i = 0; i < items; ++i) {
    if constexpr (is_bytes) {
      ++expected[static_cast<uint64_t>(input_hash(i / 4) >> (8 * (i % 4)) & 0xff) * bins / 256];
    } else {
      ++expected[static_cast<uint64_t>(input_hash(i) >> 8) * bins >> 24];
    }
  }
  const expectation<uint32_t> counts(out, expected);

  job j;
  j.outputs = {{out, bins * sizeof(uint32_t)}};
  j.bytes_moved = static_cast<uint64_t>(items) * sizeof(Sample) + bins * sizeof(uint32_t);
  j.enqueue = with_temporary(b, [=](void* temporary, size_t& bytes, cudaStream_t stream) {
    using level = std::conditional_t<is_bytes, int, float>;
    return cub::DeviceHistogram::HistogramEven(temporary, bytes, in, out, static_cast<int>(bins) + 1, level(0),
                                               level(is_bytes ? 256 : 1), static_cast<int>(items), stream);
  });
  j.verify = [=]() { return counts.verify(); };
  return j;
}

struct registration {
  const char* primitive;
  const char* operator_name;
  const char* type;
  job (*make)(bench&, uint32_t);
};

// A new primitive adds one maker above and its lines here.
const registration registry[] = {
    {"reduce", "sum", "u32", make_reduce_sum<uint32_t>},
    {"reduce", "sum", "f32", make_reduce_sum<float>},
    {"scan", "exclusive_sum", "u32", make_exclusive_sum<uint32_t>},
    {"scan", "exclusive_sum", "f32", make_exclusive_sum<float>},
    {"scan", "exclusive_sum", "u64", make_exclusive_sum<uint64_t>},
    {"scan", "inclusive_sum_by_key", "u32", make_inclusive_sum_by_key},
    {"select", "lower_half", "u32", make_select_half},
    {"unique", "runs_of_4", "u32", make_unique},
    {"run_length", "runs_of_4", "u32", make_run_length},
    {"reduce_by_key", "sum", "u32", make_reduce_by_key},
    {"sort", "keys", "u32", make_sort<uint32_t, false>},
    {"sort", "keys", "f32", make_sort<float, false>},
    {"sort", "keys", "u64", make_sort<uint64_t, false>},
    {"sort", "pairs", "u32", make_sort<uint32_t, true>},
    {"sort", "pairs", "f32", make_sort<float, true>},
    {"sort", "pairs", "u64", make_sort<uint64_t, true>},
    {"sort", "segments_of_16", "u32", make_segmented_sort<false, 16>},
    {"sort", "segments_of_1000", "u32", make_segmented_sort<false, 1000>},
    {"sort", "segments_of_100000", "u32", make_segmented_sort<false, 100000>},
    {"sort", "pairs_in_segments_of_1000", "u32", make_segmented_sort<true, 1000>},
    {"merge_sort", "keys", "u32", make_sort<uint32_t, false, true>},
    {"merge_sort", "keys", "f32", make_sort<float, false, true>},
    {"merge_sort", "keys", "u64", make_sort<uint64_t, false, true>},
    {"merge_sort", "pairs", "u32", make_sort<uint32_t, true, true>},
    {"merge_sort", "pairs", "f32", make_sort<float, true, true>},
    {"merge_sort", "pairs", "u64", make_sort<uint64_t, true, true>},
    {"search", "random_queries", "u32", make_search<false>},
    {"search", "sorted_queries", "u32", make_search<true>},
    {"histogram", "even_256", "f32", make_histogram<float, 256>},
    {"histogram", "even_4096", "f32", make_histogram<float, 4096>},
    {"histogram", "even_256", "u8", make_histogram<uint8_t, 256>},
};

// ---- results --------------------------------------------------------------------------------

struct result {
  const registration* what = nullptr;
  uint32_t items = 0;
  const char* method = nullptr;
  timing time;
  uint64_t bytes_moved = 0;
  verdict outcome;
};

struct bandwidth {
  uint64_t bytes = 0;
  double median_ms = 0.0;
};

void keep_faster(bandwidth& best, uint64_t bytes, const timing& t, const char* what, int blocks) {
  std::printf("%-12s blocks %-8d %9.5f ms (%.5f..%.5f) %8.1f GB/s\n", what, blocks, t.median_ms, t.min_ms, t.max_ms,
              gb_per_s(bytes, t.median_ms));
  if (best.bytes == 0 || t.median_ms < best.median_ms) best = {bytes, t.median_ms};
}

std::vector<int> candidate_blocks(const bench& b, uint32_t vectors) {
  return {b.multiprocessors * 4, b.multiprocessors * 8, b.multiprocessors * 16, b.multiprocessors * 32,
          static_cast<int>(vectors / block_threads)};
}

bandwidth measure_copy(bench& b) {
  const size_t bytes = static_cast<size_t>(copy_words) * 4;
  bandwidth best;
  const timing library = measure(
      b,
      [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(b.output.get(), b.input.get(), bytes, cudaMemcpyDeviceToDevice, stream));
      },
      call_lead_us);
  keep_faster(best, 2 * bytes, library, "cudaMemcpy", 0);
  for (int blocks : candidate_blocks(b, copy_words / 4)) {
    const timing t = measure(b, [&](cudaStream_t stream) { launch_copy(b, blocks, stream); }, call_lead_us);
    keep_faster(best, 2 * bytes, t, "copy_kernel", blocks);
  }
  return best;
}

bandwidth measure_read(bench& b) {
  fill_input<uint32_t>(b, read_words);
  const uint64_t bytes = static_cast<uint64_t>(read_words) * 4;
  const uint32_t expected = host_sum_u32(read_words);
  uint32_t* sum_out = static_cast<uint32_t*>(b.output.get());
  bandwidth best;
  for (int blocks : candidate_blocks(b, read_words / 4)) {
    const work enqueue = [&](cudaStream_t stream) {
      read_kernel<<<blocks, block_threads, 0, stream>>>(static_cast<const uint4*>(b.input.get()), sum_out,
                                                        read_words / 4);
      CUDA_CHECK(cudaGetLastError());
    };
    const timing t = measure(b, enqueue, call_lead_us);
    CUDA_CHECK(cudaMemsetAsync(sum_out, 0, sizeof(uint32_t), b.stream));
    enqueue(b.stream);
    CUDA_CHECK(cudaStreamSynchronize(b.stream));
    uint32_t got = 0;
    CUDA_CHECK(cudaMemcpy(&got, sum_out, sizeof(got), cudaMemcpyDeviceToHost));
    if (got != expected) {
      std::fprintf(stderr, "WRONG: read_kernel with %d blocks summed to %u, not %u; left out\n", blocks, got, expected);
      continue;
    }
    keep_faster(best, bytes, t, "read_kernel", blocks);
  }
  return best;
}

// Poisons the output first, so that an earlier run's answer cannot pass.
verdict run_and_verify(bench& b, const job& j, const work& enqueue) {
  for (const range& output : j.outputs) CUDA_CHECK(cudaMemsetAsync(output.begin, 0xff, output.bytes, b.stream));
  enqueue(b.stream);
  CUDA_CHECK(cudaStreamSynchronize(b.stream));
  return j.verify();
}

int repeats_for(bench& b, const job& j) {
  keep_busy(b, warm_ms);
  j.enqueue(b.stream);
  int repeats = 1;
  while (repeats < max_repeats) {
    const double ms = elapsed_ms(
        b,
        [&](cudaStream_t stream) {
          for (int i = 0; i < repeats; ++i) j.enqueue(stream);
        },
        call_lead_us);
    if (ms >= amortised_ms) break;
    // Growth by at most 16 keeps one odd early reading from setting the count.
    const double wanted = ms > 0.0 ? repeats * 1.1 * amortised_ms / ms : 16.0 * repeats;
    const double bounded = std::min(std::max(wanted, repeats + 1.0), 16.0 * repeats);
    repeats = std::min(max_repeats, static_cast<int>(std::ceil(bounded)));
  }
  return repeats;
}

void run_one(bench& b, const registration& what, uint32_t items, std::vector<result>& results) {
  const job j = what.make(b, items);
  CUDA_CHECK(cudaStreamSynchronize(b.stream));

  const auto record = [&](const char* method, const work& enqueue, double lead_us, int repeats) {
    result r;
    r.what = &what;
    r.items = items;
    r.method = method;
    r.time = divided(measure(b, enqueue, lead_us), repeats);
    r.bytes_moved = j.bytes_moved;
    r.outcome = run_and_verify(b, j, enqueue);
    std::printf("%-13s %-20s %-4s %10u  %-9s K=%-5d %10.6f ms (%.6f..%.6f) %8.1f GB/s  %s", what.primitive,
                what.operator_name, what.type, items, method, repeats, r.time.median_ms, r.time.min_ms, r.time.max_ms,
                gb_per_s(r.bytes_moved, r.time.median_ms), r.outcome.correct ? "ok" : "WRONG");
    if (std::strcmp(what.type, "f32") == 0) {
      std::printf(" (relative error %.2e)", r.outcome.relative_error);
    }
    std::printf("\n");
    results.push_back(r);
  };

  record("call", j.enqueue, call_lead_us, 1);

  const int repeats = repeats_for(b, j);
  const work many = [&](cudaStream_t stream) {
    for (int i = 0; i < repeats; ++i) j.enqueue(stream);
  };
  record("amortised", many, call_lead_us, repeats);
  if (j.waits) return;

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CUDA_CHECK(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeThreadLocal));
  many(b.stream);
  CUDA_CHECK(cudaStreamEndCapture(b.stream, &graph));
  CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CUDA_CHECK(cudaGraphUpload(executable, b.stream));
  record(
      "graph", [&](cudaStream_t stream) { CUDA_CHECK(cudaGraphLaunch(executable, stream)); }, graph_lead_us, repeats);
  CUDA_CHECK(cudaGraphExecDestroy(executable));
  CUDA_CHECK(cudaGraphDestroy(graph));
}

// ---- report ---------------------------------------------------------------------------------

// The runtime only knows the CUDA version; the driver's own number comes from its tool.
std::string driver_version() {
  std::string version;
  FILE* pipe = popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null", "r");
  if (pipe != nullptr) {
    char line[64] = {};
    if (std::fgets(line, sizeof(line), pipe) != nullptr) version = line;
    pclose(pipe);
  }
  version.erase(std::find(version.begin(), version.end(), '\n'), version.end());
  const bool plausible = !version.empty() && version.find_first_not_of("0123456789.") == std::string::npos;
  return plausible ? version : "unknown";
}

std::string program_version() {
  char text[64];
  std::snprintf(text, sizeof(text), "CUB %d.%d.%d (CUDA %d.%d)", CUB_VERSION / 100000, CUB_VERSION / 100 % 1000,
                CUB_VERSION % 100, CUDART_VERSION / 1000, CUDART_VERSION / 10 % 100);
  return text;
}

std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

void write_bandwidth(FILE* file, const char* key, const bandwidth& w) {
  std::fprintf(file, " \"%s\": {\"bytes\": %llu, \"median_ms\": %.7f, \"gb_per_s\": %.3f},\n", key,
               static_cast<unsigned long long>(w.bytes), w.median_ms, gb_per_s(w.bytes, w.median_ms));
}

bool write_json(const char* path, const bench& b, const bandwidth& copy, const bandwidth& read,
                const std::vector<result>& results) {
  FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  const std::time_t now = std::time(nullptr);
  char date[16] = {};
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  std::fprintf(file, "{\"schema\": \"upsweep-bench-1\",\n \"program\": \"cub\",\n");
  std::fprintf(file, " \"version\": %s,\n", json_string(program_version()).c_str());
  std::fprintf(file, " \"device\": {\"name\": %s, \"driver\": %s, \"backend\": \"CUDA\"},\n",
               json_string(b.device_name).c_str(), json_string(driver_version()).c_str());
  std::fprintf(file, " \"date\": \"%s\",\n", date);
  write_bandwidth(file, "copy", copy);
  write_bandwidth(file, "read", read);
  std::fprintf(file, " \"results\": [");
  const char* separator = "\n";
  for (const result& r : results) {
    std::fprintf(file,
                 "%s  {\"primitive\": \"%s\", \"operator\": \"%s\", \"type\": \"%s\", "
                 "\"step\": \"library\", \"items\": %u, \"method\": \"%s\", \"samples\": %d, "
                 "\"median_ms\": %.7f, \"min_ms\": %.7f, \"max_ms\": %.7f, "
                 "\"bytes_moved\": %llu, \"gb_per_s\": %.3f, \"correct\": %s}",
                 separator, r.what->primitive, r.what->operator_name, r.what->type, r.items, r.method, r.time.samples,
                 r.time.median_ms, r.time.min_ms, r.time.max_ms, static_cast<unsigned long long>(r.bytes_moved),
                 gb_per_s(r.bytes_moved, r.time.median_ms), r.outcome.correct ? "true" : "false");
    separator = ",\n";
  }
  std::fprintf(file, "\n ]}\n");
  return std::fclose(file) == 0;
}

// ---- command line ---------------------------------------------------------------------------

struct options {
  std::vector<uint32_t> items;
  std::vector<std::string> names;
  std::vector<std::string> types;
  int samples = 21;
  std::string json;
};

[[noreturn]] void usage(const std::string& problem) {
  std::fprintf(stderr,
               "cub_bench: %s\n"
               "usage: cub_bench [--only NAME,...] [--type u32,f32,u64,u8] [--items 2^10,2^20,1000,...]\n"
               "                 [--samples N] [--json FILE]\n"
               "NAME is a primitive, such as scan, or one with its operator, such as scan/exclusive_sum.\n",
               problem.c_str());
  std::exit(2);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

uint32_t parse_number(const std::string& text, uint32_t largest) {
  const bool digits = !text.empty() && text.size() <= 10 && text.find_first_not_of("0123456789") == std::string::npos;
  const unsigned long long value = digits ? std::strtoull(text.c_str(), nullptr, 10) : 0;
  if (value < 1 || value > largest) {
    usage("'" + text + "' is not a number in 1.." + std::to_string(largest));
  }
  return static_cast<uint32_t>(value);
}

uint32_t parse_items(const std::string& text) {
  if (text == "2^0") return 1;
  if (text.rfind("2^", 0) == 0) return 1u << parse_number(text.substr(2), 30);
  return parse_number(text, max_items);
}

options parse_options(int argc, char** argv) {
  options o;
  for (uint32_t power = 10; power <= 28; power += 2) o.items.push_back(1u << power);
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) usage(name + " needs a value");
    const std::string value = argv[i + 1];
    if (name == "--items") {
      o.items.clear();
      for (const std::string& part : split(value)) o.items.push_back(parse_items(part));
    } else if (name == "--only") {
      o.names = split(value);
    } else if (name == "--type") {
      o.types = split(value);
    } else if (name == "--samples") {
      o.samples = static_cast<int>(parse_number(value, 100000));
    } else if (name == "--json") {
      o.json = value;
    } else {
      usage("unknown option " + name);
    }
  }
  return o;
}

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string full_name(const registration& r) { return std::string(r.primitive) + "/" + r.operator_name; }

std::vector<const registration*> selected(const options& o) {
  for (const std::string& name : o.names) {
    const bool is_known = std::any_of(std::begin(registry), std::end(registry), [&](const registration& r) {
      return name == r.primitive || name == full_name(r);
    });
    if (!is_known) usage("there is no benchmark of " + name);
  }
  std::vector<const registration*> chosen;
  for (const registration& r : registry) {
    const bool has_name = o.names.empty() || contains(o.names, r.primitive) || contains(o.names, full_name(r));
    if (has_name && (o.types.empty() || contains(o.types, r.type))) chosen.push_back(&r);
  }
  if (chosen.empty()) usage("no benchmark has such a name and type");
  return chosen;
}

void set_up(bench& b, const options& o, uint32_t item_bytes) {
  CUDA_CHECK(cudaSetDevice(0));
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  b.device_name = properties.name;
  b.multiprocessors = properties.multiProcessorCount;
  b.samples = o.samples;
  CUDA_CHECK(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
  CUDA_CHECK(cudaEventCreate(&b.start));
  CUDA_CHECK(cudaEventCreate(&b.stop));
  const uint32_t largest = *std::max_element(o.items.begin(), o.items.end());
  const size_t bytes = std::max(static_cast<size_t>(largest) * item_bytes, static_cast<size_t>(read_words) * 4);
  b.input = device_allocate(bytes);
  b.output = device_allocate(bytes);
  b.probe_cycles = device_allocate(sizeof(long long));
  b.probe_value = device_allocate(sizeof(uint32_t));

  fill_input<uint32_t>(b, read_words);
  probe_mhz(b);
  double first_mhz = 0.0;
  for (int round = 0; round < 8; ++round) {
    keep_busy(b, warm_ms);
    const double mhz = probe_mhz(b);
    if (round == 0) first_mhz = mhz;
    b.reference_mhz = std::max(b.reference_mhz, mhz);
  }
  int rated_khz = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&rated_khz, cudaDevAttrClockRate, 0));
  std::printf("%s, %s, driver %s, %d multiprocessors, %d MiB of L2\n", program_version().c_str(), b.device_name.c_str(),
              driver_version().c_str(), b.multiprocessors, properties.l2CacheSize >> 20);
  std::printf("SM clock %.0f MHz after %.0f ms of work, then up to %.0f; rated %d MHz\n", first_mhz, warm_ms,
              b.reference_mhz, rated_khz / 1000);
  if (b.reference_mhz * 1e3 < low_clock * rated_khz) {
    std::fprintf(stderr, "WARNING: the SM clock never came near its rated value\n");
  }
  std::printf("Repeated calls over inputs smaller than the L2 read from it.\n");
  const timing empty = measure(b, [](cudaStream_t) {}, call_lead_us);
  std::printf("two events with nothing between: %.6f ms\n", empty.median_ms);
}

}  // namespace

int main(int argc, char** argv) {
  const options o = parse_options(argc, argv);
  const std::vector<const registration*> chosen = selected(o);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);

  bench b;
  const bool has_u64 =
      std::any_of(chosen.begin(), chosen.end(), [](const registration* r) { return std::strcmp(r->type, "u64") == 0; });
  set_up(b, o, has_u64 ? 8 : 4);
  const bandwidth copy = measure_copy(b);
  const bandwidth read = measure_read(b);
  std::vector<result> results;
  for (const registration* what : chosen) {
    for (uint32_t items : o.items) run_one(b, *what, items, results);
  }
  CUDA_CHECK(cudaEventDestroy(b.start));
  CUDA_CHECK(cudaEventDestroy(b.stop));
  CUDA_CHECK(cudaStreamDestroy(b.stream));

  if (!o.json.empty() && !write_json(o.json.c_str(), b, copy, read, results)) {
    std::fprintf(stderr, "cub_bench: cannot write %s\n", o.json.c_str());
    return 3;
  }
  const auto wrong = std::count_if(results.begin(), results.end(), [](const result& r) { return !r.outcome.correct; });
  if (wrong > 0 || read.bytes == 0) {
    std::fprintf(stderr, "WRONG: %d results were incorrect\n", static_cast<int>(wrong));
    return 1;
  }
  return 0;
}
