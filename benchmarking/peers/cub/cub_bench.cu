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
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "../peer_bench.cuh"

namespace {

// Relative to a double sum. A single-precision tree sum of 2^30 items in [0, 1) stays well below.
constexpr double f32_tolerance = 1e-5;
// Of a scan: totals of tiles are added one after the other, thousands of them in the worst case.
constexpr float f32_scan_tolerance = 1e-4f;

// A run begins at item 0 and at every item whose hash is a multiple of `mean`: of runs of 4, a quarter have one item,
// one in a hundred 17 or more. The hash is a bijection, so neighbouring runs differ in the key.
constexpr uint32_t usual_run_items = 4;
__host__ __device__ inline bool begins_run(uint32_t i, uint32_t mean) { return i == 0 || input_hash(i) % mean == 0; }

// The hash of the first item of the run.
__host__ __device__ inline uint32_t run_key(uint32_t i, uint32_t mean) {
  while (!begins_run(i, mean)) --i;
  return input_hash(i);
}

struct in_lower_half {
  __host__ __device__ bool operator()(uint32_t x) const { return x < 0x80000000u; }
};

__global__ void fill_runs_kernel(uint32_t* out, uint32_t items, uint32_t mean) {
  const uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += stride) {
    out[i] = run_key(i, mean);
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

run_buffers make_run_buffers(bench& b, uint32_t items, uint32_t mean = usual_run_items) {
  const size_t bytes = items * sizeof(uint32_t);
  run_buffers buffers{device_allocate(bytes), device_allocate(bytes), device_allocate(sizeof(uint32_t))};
  fill_runs_kernel<<<b.multiprocessors * 16, block_threads, 0, b.stream>>>(static_cast<uint32_t*>(buffers.keys.get()),
                                                                           items, mean);
  CUDA_CHECK(cudaGetLastError());
  return buffers;
}

// Of each run: its key, its length, and the sum of the values that lie beside it.
struct host_runs {
  std::vector<uint32_t> keys;
  std::vector<uint32_t> lengths;
  std::vector<uint32_t> sums;
};

host_runs find_host_runs(uint32_t items, uint32_t mean) {
  host_runs runs;
  for (uint32_t i = 0; i < items; ++i) {
    const uint32_t value = input_item<uint32_t>(i);
    if (begins_run(i, mean)) {
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
    expected[i] = input_item<uint32_t>(i) + (begins_run(i, usual_run_items) ? 0 : expected[i - 1]);
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

template <uint32_t mean>
job make_unique(bench& b, uint32_t items) {
  const run_buffers buffers = make_run_buffers(b, items, mean);
  const uint32_t* keys = static_cast<const uint32_t*>(buffers.keys.get());
  uint32_t* out = static_cast<uint32_t*>(b.output.get());
  uint32_t* count = static_cast<uint32_t*>(buffers.count.get());
  const host_runs runs = find_host_runs(items, mean);
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

template <uint32_t mean>
job make_run_length(bench& b, uint32_t items) {
  const run_buffers buffers = make_run_buffers(b, items, mean);
  const uint32_t* keys = static_cast<const uint32_t*>(buffers.keys.get());
  uint32_t* out = static_cast<uint32_t*>(b.output.get());
  uint32_t* lengths = static_cast<uint32_t*>(buffers.second_output.get());
  uint32_t* count = static_cast<uint32_t*>(buffers.count.get());
  const host_runs runs = find_host_runs(items, mean);
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

template <uint32_t mean>
job make_reduce_by_key(bench& b, uint32_t items) {
  fill_input<uint32_t>(b, items);
  const run_buffers buffers = make_run_buffers(b, items, mean);
  const uint32_t* keys = static_cast<const uint32_t*>(buffers.keys.get());
  const uint32_t* in = static_cast<const uint32_t*>(b.input.get());
  uint32_t* unique_keys = static_cast<uint32_t*>(b.output.get());
  uint32_t* sums = static_cast<uint32_t*>(buffers.second_output.get());
  uint32_t* count = static_cast<uint32_t*>(buffers.count.get());
  const host_runs runs = find_host_runs(items, mean);
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
    {"unique", "runs_of_4", "u32", make_unique<usual_run_items>},
    {"unique", "runs_of_1", "u32", make_unique<1>},
    {"unique", "runs_of_2", "u32", make_unique<2>},
    {"unique", "runs_of_64", "u32", make_unique<64>},
    {"run_length", "runs_of_4", "u32", make_run_length<usual_run_items>},
    {"run_length", "runs_of_1", "u32", make_run_length<1>},
    {"run_length", "runs_of_2", "u32", make_run_length<2>},
    {"run_length", "runs_of_64", "u32", make_run_length<64>},
    {"reduce_by_key", "sum", "u32", make_reduce_by_key<usual_run_items>},
    {"reduce_by_key", "sum_in_runs_of_1", "u32", make_reduce_by_key<1>},
    {"reduce_by_key", "sum_in_runs_of_2", "u32", make_reduce_by_key<2>},
    {"reduce_by_key", "sum_in_runs_of_64", "u32", make_reduce_by_key<64>},
    {"sort", "keys", "u32", make_sort<uint32_t, false>},
    {"sort", "keys", "f32", make_sort<float, false>},
    {"sort", "keys", "u64", make_sort<uint64_t, false>},
    {"sort", "pairs", "u32", make_sort<uint32_t, true>},
    {"sort", "pairs", "f32", make_sort<float, true>},
    {"sort", "pairs", "u64", make_sort<uint64_t, true>},
    {"sort", "segments_of_4", "u32", make_segmented_sort<false, 4>},
    {"sort", "segments_of_16", "u32", make_segmented_sort<false, 16>},
    {"sort", "segments_of_40", "u32", make_segmented_sort<false, 40>},
    {"sort", "segments_of_1000", "u32", make_segmented_sort<false, 1000>},
    {"sort", "segments_of_100000", "u32", make_segmented_sort<false, 100000>},
    {"sort", "pairs_in_segments_of_16", "u32", make_segmented_sort<true, 16>},
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

std::string program_version() {
  char text[64];
  std::snprintf(text, sizeof(text), "CUB %d.%d.%d (CUDA %d.%d)", CUB_VERSION / 100000, CUB_VERSION / 100 % 1000,
                CUB_VERSION % 100, CUDART_VERSION / 1000, CUDART_VERSION / 10 % 100);
  return text;
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

void usage(const std::string& problem) {
  std::fprintf(stderr,
               "cub_bench: %s\n"
               "usage: cub_bench [--only NAME,...] [--type u32,f32,u64,u8] [--items 2^10,2^20,1000,...]\n"
               "                 [--samples N] [--json FILE]\n"
               "NAME is a primitive, such as scan, or one with its operator, such as scan/exclusive_sum.\n",
               problem.c_str());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  options o = parse_options(argc, argv);
  if (o.items.empty()) {
    for (uint32_t power = 10; power <= 28; power += 2) o.items.push_back(1u << power);
  }
  const std::vector<const registration*> chosen = selected(o);
  const bool has_u64 =
      std::any_of(chosen.begin(), chosen.end(), [](const registration* r) { return std::strcmp(r->type, "u64") == 0; });
  const size_t largest = *std::max_element(o.items.begin(), o.items.end());
  return run_peer(o, "cub", program_version(), largest * (has_u64 ? 8 : 4),
                  [&](bench& b, std::vector<result>& results) {
                    for (const registration* what : chosen) {
                      for (const uint32_t items : o.items) {
                        const job j = what->make(b, items);
                        run_job(b, {what->primitive, what->operator_name, what->type}, items, j, results);
                      }
                    }
                  });
}
