// SPDX-License-Identifier: Apache-2.0
// Reads the two things that the host must know of a kernel text: its bindings and the fields of its params struct.
// Format rules (checked): one `@group(0) @binding(n) var<...> name: ...;` a line; the uniform is a struct of u32, i32
// and f32 fields, one a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "upsweep/plan.h"

namespace upsweep {

struct WgslInterface {
  std::vector<KernelBinding> bindings;
  std::vector<std::string> params;
};

Result<WgslInterface> read_wgsl_interface(std::string_view text);

// Can `c` stand in a name? Bytes of other alphabets can.
bool is_word(char c);

// What the text declares with fn, struct, alias or const, in order. Words in comments count, too.
std::vector<std::string_view> declared_names(std::string_view text);

// The same text with `var<storage, read>` of one binding made read_write: WebGPU allows two ranges of one buffer in a
// dispatch only if they are bound alike.
std::string with_shared_access(std::string_view text, std::uint32_t binding);

}  // namespace upsweep
