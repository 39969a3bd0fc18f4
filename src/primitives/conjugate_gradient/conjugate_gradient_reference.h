// SPDX-License-Identifier: Apache-2.0
// Linear systems for tests: the iteration as the books write it, in double, and elimination.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "primitives/spmv/spmv_reference.h"
#include "upsweep/csr_arrays.h"

namespace upsweep::testing {

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

inline std::vector<double> product_of(const EntryList& a, const std::vector<double>& x) {
  std::vector<double> y(a.row_count);
  for (const Entry& entry : a.entries) y[entry.row] += double{entry.value} * x[entry.column];
  return y;
}

struct CgReference {
  std::vector<double> x;
  std::vector<double> r;
  std::vector<double> p;
  double rho = 0;
  double curvature = 0;
  double step = 0;
};

// So many iterations, with z = d r.
inline CgReference conjugate_gradients(const EntryList& a, const std::vector<double>& b, std::vector<double> x,
                                       const std::vector<double>& d, std::uint32_t iterations) {
  const std::size_t n = b.size();
  CgReference cg{.x = std::move(x), .r = product_of(a, cg.x)};
  std::vector<double> z(n);
  for (std::size_t i = 0; i < n; ++i) cg.r[i] = b[i] - cg.r[i];
  for (std::size_t i = 0; i < n; ++i) z[i] = d[i] * cg.r[i];
  cg.p = z;
  cg.rho = dot(cg.r, z);
  for (std::uint32_t k = 0; k < iterations; ++k) {
    const auto q = product_of(a, cg.p);
    cg.curvature = dot(cg.p, q);
    cg.step = cg.rho / cg.curvature;
    for (std::size_t i = 0; i < n; ++i) cg.x[i] += cg.step * cg.p[i];
    for (std::size_t i = 0; i < n; ++i) cg.r[i] -= cg.step * q[i];
    for (std::size_t i = 0; i < n; ++i) z[i] = d[i] * cg.r[i];
    const double rho = dot(cg.r, z);
    for (std::size_t i = 0; i < n; ++i) cg.p[i] = z[i] + rho / cg.rho * cg.p[i];
    cg.rho = rho;
  }
  return cg;
}

// Gauss' elimination with pivots.
inline std::vector<double> eliminated(const EntryList& a, std::vector<double> b) {
  const std::size_t n = a.row_count;
  std::vector<std::vector<double>> m(n, std::vector<double>(n));
  for (const Entry& entry : a.entries) m[entry.row][entry.column] += double{entry.value};
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i) {
      if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
    }
    std::swap(m[k], m[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = m[i][k] / m[k][k];
      if (factor == 0) continue;
      for (std::size_t j = k; j < n; ++j) m[i][j] -= factor * m[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= m[k][j] * b[j];
    b[k] /= m[k][k];
  }
  return b;
}

// Symmetric, with a diagonal that outweighs each row: positive definite. Some entries come in two parts.
inline EntryList random_definite(std::uint32_t rows, std::uint64_t seed) {
  EntryList list{.row_count = rows, .column_count = rows, .entries = {}};
  std::mt19937_64 random(seed);
  std::vector<float> weight(rows, 1.0f);
  for (std::uint32_t k = 0; k < 3 * rows; ++k) {
    const auto i = static_cast<std::uint32_t>(random() % rows);
    const auto j = static_cast<std::uint32_t>(random() % rows);
    if (i == j) continue;
    const float value = static_cast<float>(static_cast<std::int64_t>(random() % 2001) - 1000) / 1024.0f;
    list.entries.push_back({i, j, value});
    list.entries.push_back({j, i, value});
    weight[i] += std::abs(value);
    weight[j] += std::abs(value);
  }
  for (std::uint32_t i = 0; i < rows; ++i) {
    const float more = static_cast<float>(random() % 64) / 8.0f;
    list.entries.push_back({i, i, weight[i]});
    list.entries.push_back({i, i, more});
  }
  std::ranges::shuffle(list.entries, random);
  return list;
}

// The Laplacian with 0 outside, of a row of points or a grid of them.
inline EntryList poisson(std::uint32_t width, std::uint32_t height = 1) {
  EntryList list{.row_count = width * height, .column_count = width * height, .entries = {}};
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint32_t i = y * width + x;
      list.entries.push_back({i, i, height == 1 ? 2.0f : 4.0f});
      if (x > 0) list.entries.push_back({i, i - 1, -1});
      if (x + 1 < width) list.entries.push_back({i, i + 1, -1});
      if (y > 0) list.entries.push_back({i, i - width, -1});
      if (y + 1 < height) list.entries.push_back({i, i + width, -1});
    }
  }
  return list;
}

inline EntryList diagonal_matrix(const std::vector<float>& diagonal) {
  const auto rows = static_cast<std::uint32_t>(diagonal.size());
  EntryList list{.row_count = rows, .column_count = rows, .entries = {}};
  for (std::uint32_t i = 0; i < rows; ++i) list.entries.push_back({i, i, diagonal[i]});
  return list;
}

inline host::CsrMatrix host_csr(const EntryList& list) {
  const SparseArrays m = csr_of(list);
  return {list.row_count, list.column_count, m.row_offsets, m.columns, {m.values.begin(), m.values.end()}};
}

inline std::vector<double> random_numbers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> items(count);
  // What f32 holds.
  for (double& item : items) item = static_cast<double>(static_cast<std::int64_t>(random() % 4001) - 2000) / 512;
  return items;
}

}  // namespace upsweep::testing
