fn initial() -> Accumulator { return identity(); }
