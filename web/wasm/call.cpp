// SPDX-License-Identifier: Apache-2.0
// The interface to JavaScript: a request comes in as one value, an answer goes out as one. web/src/wasm.ts is the other
// side.
#include "call.h"

#include "plan_value.h"

namespace upsweep::web {
namespace {

// The bytes of the request, then those of the answer.
std::string bytes;

}  // namespace
}  // namespace upsweep::web

// Make room, write the request there, call, read the answer.
extern "C" {

[[clang::export_name("upsweep_room")]] char* upsweep_room(std::size_t size) {
  upsweep::web::bytes.resize(size);
  return upsweep::web::bytes.data();
}

[[clang::export_name("upsweep_call")]] const char* upsweep_call() {
  using namespace upsweep::web;
  const auto request = decode(bytes);
  bytes = encode(request ? answer_request(*request)
                         : error_value({upsweep::ErrorKind::internal, "The request is not encoded as a value."}));
  return bytes.data();
}

[[clang::export_name("upsweep_size")]] std::size_t upsweep_size() { return upsweep::web::bytes.size(); }
}
