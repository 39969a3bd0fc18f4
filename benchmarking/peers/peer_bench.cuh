// What the peers' benchmarks have in common: clocks, timing, rates, checks, the report, the command line. Each of them
// is one CUDA file that includes this one. cub/README.md says what is measured and why.
#pragma once

#include <cuda_runtime.h>

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

// The spin kernel ahead of every sample outlasts the host's submission of the timed work, so that
// launch latency stays out. One graph launch of thousands of nodes takes the host longer.
constexpr double call_lead_us = 100.0;
constexpr double graph_lead_us = 5000.0;

void check(cudaError_t code, const char* expression, const char* file, int line) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, expression, cudaGetErrorString(code),
               cudaGetErrorName(code));
  std::exit(3);
}
#define CUDA_CHECK(expression) check((expression), #expression, __FILE__, __LINE__)

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

// ---- kernels --------------------------------------------------------------------------------

template <typename T>
__global__ void fill_kernel(T* out, uint32_t items) {
  const uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += stride) {
    out[i] = input_item<T>(i);
  }
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

// ---- work -----------------------------------------------------------------------------------

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
  uint64_t flops = 0;  // where the work is counted in them
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

// ---- results --------------------------------------------------------------------------------

// What a job is called in the report.
struct title {
  std::string primitive;
  std::string operator_name;
  std::string type;
  std::string step = "library";
};

struct result {
  title what;
  uint32_t items = 0;
  const char* method = nullptr;
  timing time;
  uint64_t bytes_moved = 0;
  uint64_t flops = 0;
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

void run_job(bench& b, const title& what, uint32_t items, const job& j, std::vector<result>& results) {
  CUDA_CHECK(cudaStreamSynchronize(b.stream));

  const auto record = [&](const char* method, const work& enqueue, double lead_us, int repeats) {
    result r;
    r.what = what;
    r.items = items;
    r.method = method;
    r.time = divided(measure(b, enqueue, lead_us), repeats);
    r.bytes_moved = j.bytes_moved;
    r.flops = j.flops;
    r.outcome = run_and_verify(b, j, enqueue);
    std::printf("%-13s %-20s %-4s %-9s %10u  %-9s K=%-5d %10.6f ms (%.6f..%.6f) %8.1f GB/s", what.primitive.c_str(),
                what.operator_name.c_str(), what.type.c_str(), what.step.c_str(), items, method, repeats,
                r.time.median_ms, r.time.min_ms, r.time.max_ms, gb_per_s(r.bytes_moved, r.time.median_ms));
    if (r.flops != 0) std::printf(" %7.1f GFLOP/s", gb_per_s(r.flops, r.time.median_ms));
    std::printf("  %s", r.outcome.correct ? "ok" : "WRONG");
    if (what.type == "f32") std::printf(" (relative error %.2e)", r.outcome.relative_error);
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

// `program` and its `version`, which names the library.
bool write_json(const char* path, const char* program, const std::string& version, const bench& b,
                const bandwidth& copy, const bandwidth& read, const std::vector<result>& results) {
  FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  const std::time_t now = std::time(nullptr);
  char date[16] = {};
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  std::fprintf(file, "{\"schema\": \"upsweep-bench-1\",\n \"program\": \"%s\",\n", program);
  std::fprintf(file, " \"version\": %s,\n", json_string(version).c_str());
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
                 "\"step\": \"%s\", \"items\": %u, \"method\": \"%s\", \"samples\": %d, "
                 "\"median_ms\": %.7f, \"min_ms\": %.7f, \"max_ms\": %.7f, "
                 "\"bytes_moved\": %llu, \"gb_per_s\": %.3f, \"flops\": %llu, \"correct\": %s}",
                 separator, r.what.primitive.c_str(), r.what.operator_name.c_str(), r.what.type.c_str(),
                 r.what.step.c_str(), r.items, r.method, r.time.samples, r.time.median_ms, r.time.min_ms, r.time.max_ms,
                 static_cast<unsigned long long>(r.bytes_moved), gb_per_s(r.bytes_moved, r.time.median_ms),
                 static_cast<unsigned long long>(r.flops), r.outcome.correct ? "true" : "false");
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

// Of the program; says why the command line is refused, and exits.
[[noreturn]] void usage(const std::string& problem);

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

// `items` is empty where the user names none.
options parse_options(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) usage(name + " needs a value");
    const std::string value = argv[i + 1];
    if (name == "--items") {
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

// `version` names the library. The input and the output have at least so many bytes.
void set_up(bench& b, const options& o, const std::string& version, size_t least_bytes) {
  CUDA_CHECK(cudaSetDevice(0));
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  b.device_name = properties.name;
  b.multiprocessors = properties.multiProcessorCount;
  b.samples = o.samples;
  CUDA_CHECK(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
  CUDA_CHECK(cudaEventCreate(&b.start));
  CUDA_CHECK(cudaEventCreate(&b.stop));
  const size_t bytes = std::max(least_bytes, static_cast<size_t>(read_words) * 4);
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
  std::printf("%s, %s, driver %s, %d multiprocessors, %d MiB of L2\n", version.c_str(), b.device_name.c_str(),
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

// Measures with `measure_all(bench, results)` between set-up and report. Returns the exit status.
template <typename MeasureAll>
int run_peer(const options& o, const char* program, const std::string& version, size_t least_bytes,
             const MeasureAll& measure_all) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  bench b;
  set_up(b, o, version, least_bytes);
  const bandwidth copy = measure_copy(b);
  const bandwidth read = measure_read(b);
  std::vector<result> results;
  measure_all(b, results);
  CUDA_CHECK(cudaEventDestroy(b.start));
  CUDA_CHECK(cudaEventDestroy(b.stop));
  CUDA_CHECK(cudaStreamDestroy(b.stream));

  if (!o.json.empty() && !write_json(o.json.c_str(), program, version, b, copy, read, results)) {
    std::fprintf(stderr, "%s: cannot write %s\n", program, o.json.c_str());
    return 3;
  }
  const auto wrong = std::count_if(results.begin(), results.end(), [](const result& r) { return !r.outcome.correct; });
  if (wrong > 0 || read.bytes == 0) {
    std::fprintf(stderr, "WRONG: %d results were incorrect\n", static_cast<int>(wrong));
    return 1;
  }
  return 0;
}

}  // namespace
