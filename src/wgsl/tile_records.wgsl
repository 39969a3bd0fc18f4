// What tile_single_pass and tile_single_pass_in_order share. One pass over one row: workgroups take tiles, publish the
// fold of their tile, look back at those before (tile_look_back.*), then store.
// Sources: Merrill and Garland 2016 (decoupled look-back); Smith, Levien and Owens 2025 (decoupled fallback).
//
// No order between memory locations is relied on (WGSL atomics are relaxed): a record is up to 8 words; each holds 16 bits
// of the value beside the number of this run and a flag, and a record counts when all its words show the same.
// A thread that publishes in place of a stalled owner uses a flag of its own, since its sum may be rounded otherwise,
// and atomicMax, so that it never takes back what the owner wrote.
//
// Where a tile starts anew (a segment begins in it), nothing before it matters: its total is its prefix and is published
// as one, so that those behind it look no further.
//
// The word of the ticket holds the run, too: the last ticket starts the next run. Run numbers come again after 16383
// runs; until then each run clears a few records that it does not use, so that none is left from the last time.
//
// Prelude gives  Accumulator, UNIT_ITEMS, TILE_ITEMS, POLL_ROUNDS
// Parts give     row_range (tile_range.*), row_length (tile_extent.*), load_tile, tile_rows (generated), total_tile with
//                a barrier, scan_tile (tile_scan.*), initial (tile_initial.*), look_back (tile_look_back.*), stage_ahead
//                (generated), store_tile (generated or of the primitive), store_total (tile_total.*), publish,
//                read_record, tile_of_ticket, starts_anew (generated)
@group(0) @binding(10) var<storage, read_write> state: array<atomic<u32>>;

const TICKET_BITS = 18u;  // and 14 for the run
const LAST_RUN = 16382u;
const STATE_RECORDS = 8u;
const RECORD_WORDS = 8u;
const SWEEPS = 8192u;  // runs that clear all unused records

const FLAG_MISSING = 0u;
const FLAG_LENT_TOTAL = 1u;  // of the tile, computed by another workgroup
const FLAG_TOTAL = 2u;       // of the tile
const FLAG_PREFIX = 3u;      // of the tile and everything before it

struct Record {
  value: Accumulator,
  flag: u32,
}

// Tests, and the self-test of contexts: tiles that are never published, as if their workgroups stalled. A parameter, so
// that the kernel under test is the one in use.
fn is_hidden(tile: u32) -> bool {
  let every = max(params.hidden_tiles, 1u);
  return params.hidden_tiles != 0u && tile % every == 1u % every;
}

// Clears this run's share of the records at and after `tile_count`.
fn sweep_records(run_number: u32, tile_count: u32, thread: Thread) {
  let records = (arrayLength(&state) - STATE_RECORDS) / RECORD_WORDS;
  let share = records / SWEEPS + 1u;
  let first = run_number % SWEEPS * share;
  for (var word = thread.index; word < share * RECORD_WORDS; word += WORKGROUP_SIZE) {
    let record = first + word / RECORD_WORDS;
    if (record >= tile_count && record < records) {
      atomicStore(&state[STATE_RECORDS + first * RECORD_WORDS + word], 0u);
    }
  }
}

// Takes a ticket: (run number, ticket). The last one starts the next run.
fn take_ticket() -> vec2u {
  let drawn = atomicAdd(&state[0], 1u);
  let ticket = drawn & ((1u << TICKET_BITS) - 1u);
  let run_number = drawn >> TICKET_BITS;
  if (ticket == params.workgroup_count - 1u) {
    atomicStore(&state[0], select(run_number + 1u, 0u, run_number == LAST_RUN) << TICKET_BITS);
  }
  return vec2u(run_number, ticket);
}

fn tag_of_run(run_number: u32) -> u32 { return (run_number + 1u) << 18u; }

// From the tile's total on.
fn finish_tile(units: Tile, rows: Rows, total: TileTotal, tile: u32, tile_count: u32, run_number: u32, unit: u32,
               is_full: bool, range: Range, thread: Thread, workgroup: Workgroup) {
  let tag = tag_of_run(run_number);
  if (tile > 0u && !is_hidden(tile)) {
    publish(tile, total.total, tag | (select(FLAG_TOTAL, FLAG_PREFIX, starts_anew(total.total)) << 16u), thread);
  }
  let scanned = scan_tile(rows, total, thread, workgroup);
  // Those before have more time to publish.
  stage_ahead(units, scanned, total.before, total.total, unit, range, thread, workgroup);
  let before = look_back(tile, total.total, tag, range, thread, workgroup);
  store_tile(units, scanned, Prefix(before, total.before, total.total), unit, is_full, range, thread, workgroup);
  if (tile == tile_count - 1u && thread.index == 0u) {
    store_total(0u, combine(before, total.total), range);
  }
  // Last: threads part in this loop, and no subgroup operation is to come behind it.
  if (tile == 0u) { sweep_records(run_number, tile_count, thread); }
}
