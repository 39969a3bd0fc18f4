// SPDX-License-Identifier: Apache-2.0
#include "call.h"
#include "plan_request.h"
#include "plan_value.h"

namespace upsweep::web {

Value answer_request(const Value& request) {
  const auto planned = plan_request(request);
  if (!planned) return error_value(planned.error());
  Value answer = Value::object();
  answer.set("tuning", planned->tuning);
  const Value* want = request.find("want");
  if (want != nullptr && want->text == "text") answer.set("text", to_string(planned->plan));
  if (want == nullptr || want->text == "plan") answer.set("plan", plan_value(planned->plan));
  return answer;
}

}  // namespace upsweep::web
