// What a tile of the stage consists of: `left_room` items from left_begin on, then items from right_begin on, `room` in
// all; and where they go.
struct Ranges {
  left_begin: u32,
  right_begin: u32,
  output_begin: u32,
  left_room: u32,
  room: u32,
}
