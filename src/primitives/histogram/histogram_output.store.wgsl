// One workgroup has all: it writes every cell.
@group(0) @binding(5) var<storage, read_write> output: array<u32>;

fn emit(cell: u32, amount: Amount) { output[params.output_first + cell] = amount; }
