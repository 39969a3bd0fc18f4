// What the windows before this one carry over.
@group(0) @binding(12) var<storage, read_write> carry: array<Accumulator>;

fn initial() -> Accumulator { return carry[0]; }
