// SPDX-License-Identifier: Apache-2.0
// The frame of every primitive that is a scan underneath: a primitive says what its accumulators are, how units are
// loaded and what is done with each item's prefix; the frame makes the passes.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/kernel_builder.h"
#include "plan/lowering.h"
#include "plan/plan_builder.h"
#include "upsweep/device_traits.h"
#include "upsweep/scan_tuning.h"

namespace upsweep {

// What travels between threads and tiles. The WGSL functions identity() and combine() on it come from the program.
struct TileAccumulator {
  std::string type;  // WGSL; a struct if there are members
  std::uint32_t size_bytes = 4;
  // Types of the struct's members, which must be plain; empty: `type` itself.
  std::vector<std::pair<std::string, std::string>> members = {};  // name, type
  bool commutative = true;
  bool is_custom = false;  // combine() calls the caller's operator
  // A member that is not 0 where nothing that lies before matters: a tile with one knows its prefix at once.
  std::string anew_member = {};
  // What records hold of each member, an expression of `value`; of one without it nothing, and it comes back as zero.
  // Empty: of all.
  std::vector<std::string> recorded = {};
  std::string fold_builtin = {};  // "subgroupAdd", where the operator has subgroupExclusiveAdd, too
  std::string windows = {};  // add_window(), add_unit() and end_windows(), where there is more to them than combine()
};
// Of an operator's own accumulator.
TileAccumulator tile_accumulator(const LoweredOperator& op);
// Few enough tiles that all are at work at the same time, on devices where it has been measured that then 512 threads a
// tile do better than 256 (H200, 2026-12-01).
bool is_one_wave(std::uint32_t item_bytes, std::uint64_t item_count, std::uint64_t most_items,
                 const DeviceTraits& traits);
// scan_rows() of Rows that are accumulators r0, r1, ...
std::string row_scan_text(std::uint32_t rows);
// Do whole subgroups scan, by built-ins or shuffles?
bool scans_by_lanes(const TileAccumulator& accumulator, const ScanTuning& tuning, const DeviceTraits& traits);
// Workgroup memory that the passes themselves take; what is left is the sink's.
std::uint32_t scan_workgroup_bytes(const TileAccumulator& accumulator, const ScanTuning& tuning,
                                   const DeviceTraits& traits);
// Words of a plain WGSL type ("f32", "vec2<i32>", "vec4u"); 0 for others.
std::uint32_t words_of_type(std::string_view wgsl_type);

// A storage variable of the program's kernels and what it is bound to. Kernels that do not declare it leave it out.
struct TileBinding {
  std::string variable;
  SlotId slot;
  std::uint32_t stride_bytes = 4;
  std::string first_field =
      {};                 // params field that receives the items before the first; empty: bound from its beginning
  bool per_item = false;  // windows of the input bind their part
  bool per_row = false;
  std::uint32_t items_per_entry = 1;  // flags: 1, 4 or 32
};

// The two of the items themselves, `input` and `input_units` (add_tile_items()).
std::vector<TileBinding> input_bindings(SlotId slot, std::uint32_t stride_bytes);

// The output of a program that stores in vectors is bound in two parts: whole blocks as vectors, the rest item by item.
struct TileOutput {
  SlotId slot;
  std::uint32_t stride_bytes = 4;
  std::string first_field = "output_first";
};

// An array of scratch with so many bytes for each tile, bound as `variable` by the kernels that declare it. Tiles are
// numbered through all windows; params.tile_base is that of a window's first.
struct TileScratch {
  std::string variable;
  std::uint32_t bytes = 4;
};

struct TileProgram {
  std::string name;
  TileAccumulator accumulator;
  std::uint32_t unit_items = 1;  // items of a unit: 1, 2 or 4
  bool reverse = false;
  bool needs_f16 = false;
  std::uint32_t halo = 0;                // items before a window that it must see
  bool needs_one_window = false;         // it must see items after it
  bool needs_grand_total = false;        // start_sink() folds the totals of all chunks: always two passes
  bool is_map = false;                   // nothing is scanned: one pass, prefixes are the identity
  std::vector<std::string> params = {};  // fields of the program's own; 0 if nothing is bound to them
  std::vector<PlanBuilder::Param> param_values = {};
  std::vector<TileBinding> bindings = {};
  std::optional<TileOutput> vector_output = {};
  bool in_place = false;
  std::pair<std::string, std::string> alike_fields = {};  // params that vector loads need equal modulo 4

  // WGSL: aliases (Accumulator, unless it has members), the caller's text, identity() and combine(); then
  //   load_unit(unit, range) -> Loaded, import_unit(loaded, unit, range) -> Unit   where all items are the row's
  //   load_edge_unit(unit, items: RawUnit, range) -> Loaded,
  //   import_edge_unit(loaded, unit, range) -> Unit                                for any unit; branch-free
  //   unit_total(u, unit, range) -> Accumulator
  std::function<void(KernelBuilder&)> add_types;
  std::function<Status(KernelBuilder&, bool is_store_pass)> add_units;
  // store_unit(u, unit, prefix, is_full, range), or store_tile() itself, with its workgroup memory.
  std::function<void(KernelBuilder&)> add_sink;
  bool has_own_store_tile = false;
  // stage_tile(tile, rows, before, total, unit, range, thread, workgroup) comes before store_tile(), and before the
  // look-back of a single pass; `before` is the fold of the subgroups before in the tile, `total` that of the tile. A
  // barrier lies between the two.
  bool stages_early = false;
  bool has_own_start_sink = false;
  std::function<void(KernelBuilder&)> add_initial = {};  // initial() of the first window; identity without
  // store_total(); nothing without. Where there are no items, the kernel has no sink.
  std::function<void(KernelBuilder&, bool has_items)> add_total = {};
  bool late_publish = false;  // the rows are scanned before the total is known
  std::vector<TileScratch> tile_scratch =
      {};  // the last is written by X_values, unless it only reads; the others before
  // X_values: a pass after the others of each window, where lanes scan; a workgroup takes `values_tiles` tiles. Gives
  // run(), and if it needs them Tile and what scans it. The param is_last_window is 1 in the last window.
  std::function<Status(KernelBuilder&)> add_values = {};
  std::uint32_t values_tiles = 1;
  std::string values_name = "values";  // of the kernel, behind the program's
  bool values_only_read = false;       // tile_scratch
  // Passes after all windows, where there is more than one tile; scratch as in tile_scratch.
  std::function<Status(PlanBuilder&, const std::vector<SlotId>& scratch, std::uint64_t tile_count)> add_last = {};
  // Instead of the frame's scan_rows() where whole subgroups scan: with ballots.
  std::function<std::string(const ScanTuning& tuning, const DeviceTraits& traits)> lane_scan = {};
  // Instead of the frame's: Tile, load_tile(), Rows, tile_rows(), fold_rows(); where lanes scan, scan_rows(), too.
  std::function<std::string(bool lanes)> own_tile = {};
  std::uint32_t values_bytes = 0;   // X_values: of each item
  std::uint32_t item_bytes = 4;     // read of each item
  std::uint32_t written_bytes = 4;  // of each item, at most
};

struct TileExtent {
  std::uint64_t row_count = 1;
  std::uint64_t row_length = 0;
  bool length_on_device = false;
  std::uint32_t items_per_count = 1;  // of a length on the device
  bool rows_on_device = false;
  SlotId item_count = {};
};

// What every primitive refuses: traits without limits, types that are none, more items than a u32 numbers.
constexpr std::uint64_t most_tile_items = 0xfffffffe;
Status check_tile_request(const DeviceTraits& traits, std::initializer_list<const ElementType*> types,
                          std::uint64_t item_count);

// Gives the program that moves vectors, or items.
using MakeTileProgram = std::function<TileProgram(bool vectors, const ScanTuning& tuning)>;

// Makes the passes; cuts rows and workgroup size where accumulators do not fit into workgroup memory. `may_single_pass`
// is false where only an explicit wish takes the single pass (floats that must repeat).
Result<Plan> plan_tiles(PlanBuilder plan, const MakeTileProgram& make, bool use_vectors, const TileExtent& extent,
                        const DeviceTraits& traits, const ScanTuning& tuning, ScanOffsets offsets,
                        bool may_single_pass);

// Why a single pass is impossible here; empty if it is possible.
std::string single_pass_obstacle(const TileProgram& program, const TileExtent& extent, const ScanTuning& tuning,
                                 const DeviceTraits& traits);

}  // namespace upsweep
