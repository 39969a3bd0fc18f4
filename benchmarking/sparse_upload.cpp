// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <format>

#include "benchmarking/session.h"
#include "benchmarking/sparse_formats.h"

namespace upsweep::bench {
namespace {

constexpr std::uint64_t chunk_bytes = 1ull << 24;

}  // namespace

Result<BufferView> upload(Session& session, const std::string& label, std::span<const std::byte> bytes) {
  const auto view = session.buffer(label, std::max<std::uint64_t>(bytes.size() / 4, 1));
  if (!view) return std::unexpected(view.error());
  for (std::uint64_t first = 0; first < bytes.size(); first += chunk_bytes) {
    const std::uint64_t size = std::min<std::uint64_t>(chunk_bytes, bytes.size() - first);
    const Status ok = session.context().write(BufferView(view->buffer, first, size), bytes.subspan(first, size));
    if (!ok) return std::unexpected(ok.error());
  }
  return *view;
}

Result<DeviceMatrix> upload_matrix(Session& session, const StoredMatrix& stored, std::string_view label) {
  DeviceMatrix on_device{.shape = stored.shape, .buffers = {}};
  const auto put = [&](std::string_view name, const auto& items, BufferView& view) -> Status {
    if (items.empty()) return {};
    const auto made = upload(session, std::format("{} {}", label, name), std::as_bytes(std::span(items)));
    if (!made) return std::unexpected(made.error());
    view = *made;
    return {};
  };
  SparseBuffers& buffers = on_device.buffers;
  Status ok = put("row_offsets", stored.row_offsets, buffers.row_offsets);
  if (ok) ok = put("rows", stored.rows, buffers.rows);
  if (ok) ok = put("slice_offsets", stored.slice_offsets, buffers.slice_offsets);
  if (ok) ok = put("row_order", stored.row_order, buffers.row_order);
  if (ok) ok = put("columns", stored.columns, buffers.columns);
  if (ok) ok = put("values", stored.values, buffers.values);
  if (ok) ok = put("rest_rows", stored.rest_rows, buffers.rest_rows);
  if (ok) ok = put("rest_offsets", stored.rest_offsets, buffers.rest_offsets);
  if (ok) ok = put("rest_columns", stored.rest_columns, buffers.rest_columns);
  if (ok) ok = put("rest_values", stored.rest_values, buffers.rest_values);
  if (!ok) return std::unexpected(ok.error());
  return on_device;
}

}  // namespace upsweep::bench
