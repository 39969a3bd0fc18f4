// The digit of a kernel that works on one.
fn digit_of_pass() -> Digit { return digit_of_number(params.pass_number); }
