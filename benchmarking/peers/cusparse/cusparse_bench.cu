// Times NVIDIA cuSPARSE's products of a sparse matrix and a vector. README.md says what is measured.

#include <cuda_runtime.h>
#include <cusparse.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../peer_bench.cuh"
#include "benchmarking/sparse_matrices.h"

namespace {

using upsweep::bench::CsrMatrix;
using upsweep::bench::MatrixKind;
using upsweep::bench::ProductReference;
using upsweep::bench::ProductVerdict;
using upsweep::bench::Slices;

constexpr uint32_t slice_rows = 32;
constexpr uint32_t block_size = 3;
// Times the memory of compressed rows, as upsweep's benchmark.
constexpr uint64_t most_growth = 4;

void check(cusparseStatus_t code, const char* expression, const char* file, int line) {
  if (code == CUSPARSE_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, expression, cusparseGetErrorString(code));
  std::exit(3);
}
#define CUSPARSE_CHECK(expression) check((expression), #expression, __FILE__, __LINE__)

template <typename T>
std::shared_ptr<T> to_device(const std::vector<T>& items) {
  const size_t bytes = items.size() * sizeof(T);
  const std::shared_ptr<void> memory = device_allocate(std::max<size_t>(bytes, 4));
  CUDA_CHECK(cudaMemcpy(memory.get(), items.data(), bytes, cudaMemcpyHostToDevice));
  return {memory, static_cast<T*>(memory.get())};
}

// A matrix with what a product with it must give.
struct problem {
  std::string name;
  CsrMatrix matrix;
  ProductReference expected;
  std::shared_ptr<float> x;
  std::shared_ptr<float> y;
};

std::shared_ptr<problem> make_problem(MatrixKind kind, uint32_t rows) {
  auto p = std::make_shared<problem>();
  p->name = to_string(kind);
  p->matrix = make_matrix(kind, rows);
  const std::vector<float> x = upsweep::bench::make_vector(p->matrix.column_count);
  p->expected = multiply(p->matrix, x);
  p->x = to_device(x);
  p->y = to_device(std::vector<float>(rows));
  return p;
}

// A matrix in one of the library's formats, and the memory that it lies in.
struct stored_matrix {
  cusparseConstSpMatDescr_t description = nullptr;
  std::vector<std::shared_ptr<void>> memory;

  ~stored_matrix() {
    if (description != nullptr) CUSPARSE_CHECK(cusparseDestroySpMat(description));
  }
};
using stored = std::shared_ptr<stored_matrix>;

constexpr cusparseIndexType_t index_type = CUSPARSE_INDEX_32I;
constexpr cusparseIndexBase_t index_base = CUSPARSE_INDEX_BASE_ZERO;

stored store_csr(const problem& p) {
  const CsrMatrix& m = p.matrix;
  const auto offsets = to_device(m.row_offsets);
  const auto columns = to_device(m.columns);
  const auto values = to_device(m.values);
  auto s = std::make_shared<stored_matrix>();
  s->memory = {offsets, columns, values};
  CUSPARSE_CHECK(cusparseCreateConstCsr(&s->description, m.row_count, m.column_count, m.columns.size(), offsets.get(),
                                        columns.get(), values.get(), index_type, index_type, index_base, CUDA_R_32F));
  return s;
}

stored store_coo(const problem& p) {
  const CsrMatrix& m = p.matrix;
  std::vector<uint32_t> row_numbers;
  row_numbers.reserve(m.columns.size());
  for (uint32_t row = 0; row < m.row_count; ++row) row_numbers.insert(row_numbers.end(), m.row_length(row), row);
  const auto rows = to_device(row_numbers);
  const auto columns = to_device(m.columns);
  const auto values = to_device(m.values);
  auto s = std::make_shared<stored_matrix>();
  s->memory = {rows, columns, values};
  CUSPARSE_CHECK(cusparseCreateConstCoo(&s->description, m.row_count, m.column_count, m.columns.size(), rows.get(),
                                        columns.get(), values.get(), index_type, index_base, CUDA_R_32F));
  return s;
}

stored store_slices(const problem& p) {
  const CsrMatrix& m = p.matrix;
  uint64_t places = 0;
  for (uint32_t first = 0; first < m.row_count; first += slice_rows) {
    uint32_t width = 0;
    const uint32_t end = std::min(m.row_count, first + slice_rows);
    for (uint32_t row = first; row < end; ++row) width = std::max(width, m.row_length(row));
    places += static_cast<uint64_t>(width) * slice_rows;
  }
  if (2 * places > most_growth * (2 * m.columns.size() + m.row_count)) return nullptr;
  // Unused slots have the column 0xffffffff, which is cuSPARSE's -1.
  const Slices slices = make_slices(m, slice_rows);
  const auto offsets = to_device(slices.slice_offsets);
  const auto columns = to_device(slices.columns);
  const auto values = to_device(slices.values);
  auto s = std::make_shared<stored_matrix>();
  s->memory = {offsets, columns, values};
  CUSPARSE_CHECK(cusparseCreateConstSlicedEll(&s->description, m.row_count, m.column_count, m.columns.size(),
                                              slices.values.size(), slice_rows, offsets.get(), columns.get(),
                                              values.get(), index_type, index_type, index_base, CUDA_R_32F));
  return s;
}

// Compressed rows of dense blocks.
struct block_rows {
  std::shared_ptr<uint32_t> offsets;
  std::shared_ptr<uint32_t> columns;
  std::shared_ptr<float> values;
  uint32_t rows = 0;
  uint32_t blocks = 0;
};

// Only of matrices that consist of whole blocks.
bool has_blocks(const problem& p) {
  return p.name == to_string(MatrixKind::blocks3) && p.matrix.row_count % block_size == 0;
}

block_rows make_block_rows(const problem& p, bool row_major) {
  const CsrMatrix& m = p.matrix;
  std::vector<uint32_t> offsets{0};
  std::vector<uint32_t> columns;
  std::vector<float> values(m.values.size());
  for (uint32_t first = 0; first < m.row_count; first += block_size) {
    const uint32_t begin = m.row_offsets[first];
    const uint32_t width = m.row_length(first) / block_size;
    for (uint32_t slot = 0; slot < width; ++slot) {
      for (uint32_t i = 0; i < block_size; ++i) {
        for (uint32_t j = 0; j < block_size; ++j) {
          const size_t place = (columns.size() * block_size + (row_major ? i : j)) * block_size + (row_major ? j : i);
          values[place] = m.values[m.row_offsets[first + i] + slot * block_size + j];
        }
      }
      columns.push_back(m.columns[begin + slot * block_size] / block_size);
    }
    offsets.push_back(static_cast<uint32_t>(columns.size()));
  }
  return {to_device(offsets), to_device(columns), to_device(values), m.row_count / block_size,
          static_cast<uint32_t>(columns.size())};
}

stored store_blocks(const problem& p, cusparseOrder_t order) {
  if (!has_blocks(p)) return nullptr;
  const block_rows b = make_block_rows(p, order == CUSPARSE_ORDER_ROW);
  auto s = std::make_shared<stored_matrix>();
  s->memory = {b.offsets, b.columns, b.values};
  CUSPARSE_CHECK(cusparseCreateConstBsr(&s->description, b.rows, b.rows, b.blocks, block_size, block_size,
                                        b.offsets.get(), b.columns.get(), b.values.get(), index_type, index_type,
                                        index_base, CUDA_R_32F, order));
  return s;
}

job start_job(const std::shared_ptr<problem>& p) {
  job j;
  j.outputs = {{p->y.get(), p->expected.sums.size() * sizeof(float)}};
  j.bytes_moved = p->matrix.product_bytes();
  j.flops = p->matrix.product_flops();
  j.verify = [p]() {
    std::vector<float> y(p->expected.sums.size());
    CUDA_CHECK(cudaMemcpy(y.data(), p->y.get(), y.size() * sizeof(float), cudaMemcpyDeviceToHost));
    const ProductVerdict found = check_product(p->expected, y);
    return verdict{found.correct, found.relative_error};
  };
  return j;
}

const float one = 1.0f;
const float zero = 0.0f;

// The generic call. No job where this version of the library refuses it.
bool make_generic(cusparseHandle_t handle, const std::shared_ptr<problem>& p, const stored& matrix,
                  cusparseSpMVAlg_t algorithm, job& j) {
  cusparseConstDnVecDescr_t x = nullptr;
  cusparseDnVecDescr_t y = nullptr;
  CUSPARSE_CHECK(cusparseCreateConstDnVec(&x, p->matrix.column_count, p->x.get(), CUDA_R_32F));
  CUSPARSE_CHECK(cusparseCreateDnVec(&y, p->matrix.row_count, p->y.get(), CUDA_R_32F));
  const std::shared_ptr<void> vectors(nullptr, [x, y](void*) {
    CUSPARSE_CHECK(cusparseDestroyDnVec(x));
    CUSPARSE_CHECK(cusparseDestroyDnVec(y));
  });
  constexpr cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t bytes = 0;
  cusparseStatus_t status =
      cusparseSpMV_bufferSize(handle, plain, &one, matrix->description, x, &zero, y, CUDA_R_32F, algorithm, &bytes);
  const std::shared_ptr<void> memory = device_allocate(std::max<size_t>(bytes, 4));
  if (status == CUSPARSE_STATUS_SUCCESS) {
    status = cusparseSpMV_preprocess(handle, plain, &one, matrix->description, x, &zero, y, CUDA_R_32F, algorithm,
                                     memory.get());
    // Not every algorithm has one.
    if (status == CUSPARSE_STATUS_NOT_SUPPORTED) status = CUSPARSE_STATUS_SUCCESS;
  }
  if (status == CUSPARSE_STATUS_SUCCESS) {
    status = cusparseSpMV(handle, plain, &one, matrix->description, x, &zero, y, CUDA_R_32F, algorithm, memory.get());
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  if (status != CUSPARSE_STATUS_SUCCESS) {
    std::printf("%s: %s\n", p->name.c_str(), cusparseGetErrorString(status));
    return false;
  }
  j.enqueue = [=](cudaStream_t stream) {
    CUSPARSE_CHECK(cusparseSetStream(handle, stream));
    CUSPARSE_CHECK(
        cusparseSpMV(handle, plain, &one, matrix->description, x, &zero, y, CUDA_R_32F, algorithm, memory.get()));
    (void)vectors;
  };
  return true;
}

// The older call for blocks, with whole blocks one after the other.
bool make_bsrmv(cusparseHandle_t handle, const std::shared_ptr<problem>& p, bool row_major, job& j) {
  if (!has_blocks(*p)) return false;
  const block_rows b = make_block_rows(*p, row_major);
  cusparseMatDescr_t description = nullptr;
  CUSPARSE_CHECK(cusparseCreateMatDescr(&description));
  const std::shared_ptr<void> keep(nullptr,
                                   [description](void*) { CUSPARSE_CHECK(cusparseDestroyMatDescr(description)); });
  const cusparseDirection_t direction = row_major ? CUSPARSE_DIRECTION_ROW : CUSPARSE_DIRECTION_COLUMN;
  j.waits = true;
  j.enqueue = [=](cudaStream_t stream) {
    CUSPARSE_CHECK(cusparseSetStream(handle, stream));
    CUSPARSE_CHECK(cusparseSbsrmv(
        handle, direction, CUSPARSE_OPERATION_NON_TRANSPOSE, static_cast<int>(b.rows), static_cast<int>(b.rows),
        static_cast<int>(b.blocks), &one, description, b.values.get(), reinterpret_cast<const int*>(b.offsets.get()),
        reinterpret_cast<const int*>(b.columns.get()), block_size, p->x.get(), &zero, p->y.get()));
    (void)keep;
  };
  return true;
}

struct algorithm {
  const char* name;
  bool (*make)(cusparseHandle_t, const std::shared_ptr<problem>&, job&);
};

template <stored (*store)(const problem&), cusparseSpMVAlg_t kind>
bool make_of(cusparseHandle_t handle, const std::shared_ptr<problem>& p, job& j) {
  const stored matrix = store(*p);
  return matrix != nullptr && make_generic(handle, p, matrix, kind, j);
}
template <cusparseOrder_t order>
stored store_ordered_blocks(const problem& p) {
  return store_blocks(p, order);
}
template <bool row_major>
bool make_older(cusparseHandle_t handle, const std::shared_ptr<problem>& p, job& j) {
  return make_bsrmv(handle, p, row_major, j);
}

const algorithm algorithms[] = {
    {"csr_alg1", make_of<store_csr, CUSPARSE_SPMV_CSR_ALG1>},
    {"csr_alg2", make_of<store_csr, CUSPARSE_SPMV_CSR_ALG2>},
    {"coo_alg1", make_of<store_coo, CUSPARSE_SPMV_COO_ALG1>},
    {"coo_alg2", make_of<store_coo, CUSPARSE_SPMV_COO_ALG2>},
    {"sell_alg1", make_of<store_slices, CUSPARSE_SPMV_SELL_ALG1>},
    {"bsr_rows", make_of<store_ordered_blocks<CUSPARSE_ORDER_ROW>, CUSPARSE_SPMV_BSR_ALG1>},
    {"bsr_columns", make_of<store_ordered_blocks<CUSPARSE_ORDER_COL>, CUSPARSE_SPMV_BSR_ALG1>},
    {"bsrmv_rows", make_older<true>},
    {"bsrmv_columns", make_older<false>},
};

std::string program_version() {
  char text[64];
  std::snprintf(text, sizeof(text), "cuSPARSE %d.%d.%d (CUDA %d.%d)", CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR,
                CUSPARSE_VER_PATCH, CUDART_VERSION / 1000, CUDART_VERSION / 10 % 100);
  return text;
}

void usage(const std::string& problem) {
  std::fprintf(stderr,
               "cusparse_bench: %s\n"
               "usage: cusparse_bench [--only NAME,...] [--items ROWS,...] [--samples N] [--json FILE]\n"
               "NAME is a matrix, such as grid5, or one with its algorithm, such as grid5/csr_alg2.\n",
               problem.c_str());
  std::exit(2);
}

bool is_wanted(const options& o, const std::string& matrix, const std::string& step) {
  return o.names.empty() || contains(o.names, matrix) || contains(o.names, matrix + "/" + step);
}

bool is_known(const std::string& name) {
  for (const MatrixKind kind : upsweep::bench::matrix_kinds) {
    const std::string matrix(to_string(kind));
    if (name == matrix) return true;
    for (const algorithm& a : algorithms) {
      if (name == matrix + "/" + a.name) return true;
    }
  }
  return false;
}

void measure_matrix(bench& b, const options& o, cusparseHandle_t handle, MatrixKind kind, uint32_t rows,
                    std::vector<result>& results) {
  std::shared_ptr<problem> p;
  for (const algorithm& a : algorithms) {
    if (!is_wanted(o, std::string(to_string(kind)), a.name)) continue;
    if (p == nullptr) {
      p = make_problem(kind, rows);
      std::printf("%s: %u rows, %zu entries, at most %u a row\n", p->name.c_str(), rows, p->matrix.columns.size(),
                  p->matrix.longest_row());
    }
    job j = start_job(p);
    if (a.make(handle, p, j)) run_job(b, {"spmv", p->name, "f32", a.name}, rows, j, results);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const options o = parse_options(argc, argv);
  for (const std::string& name : o.names) {
    if (!is_known(name)) usage("there is no matrix and algorithm " + name);
  }
  if (!o.types.empty()) usage("all is of f32");
  return run_peer(o, "cusparse", program_version(), 0, [&](bench& b, std::vector<result>& results) {
    cusparseHandle_t handle = nullptr;
    CUSPARSE_CHECK(cusparseCreate(&handle));
    for (const MatrixKind kind : upsweep::bench::matrix_kinds) {
      const std::vector<uint32_t> usual{usual_row_count(kind)};
      for (const uint32_t rows : o.items.empty() ? usual : o.items) measure_matrix(b, o, handle, kind, rows, results);
    }
    CUSPARSE_CHECK(cusparseDestroy(handle));
  });
}
