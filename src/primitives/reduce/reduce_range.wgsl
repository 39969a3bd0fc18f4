// A run of items [begin, end) that a workgroup folds, inside a tile-aligned walk from `origin`.
struct Range {
  origin: u32,
  begin: u32,
  end: u32,
  row_first: u32,         // position of the row's first item in the input
  second_row_first: u32,  // and in the second input
}
