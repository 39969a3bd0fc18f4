// SPDX-License-Identifier: Apache-2.0
// The module of the page's ladders. A request is an object; `call` says what it wants:
//   steps      family, traits                  all steps, with their WGSL or the reason why they are not to be had
//   size       family, items                   sets the size; what is the same for all steps
//   work       family, step, traits, have      the plan, and the buffers that are not in the list `have`
//   run_cpu    family, repeats                 the step of the CPU, so often
//   check_cpu  family                          its result
//   begin_check, check (words), end_check      the same for words from the device
//   copy       words, workgroups, traits       plans of the benchmarks
//   fill       words, traits
//   poison     words, word, traits
#include <algorithm>
#include <array>
#include <format>

#include "benchmarking/bench_plans.h"
#include "call.h"
#include "fields.h"
#include "ladder.h"
#include "plan_value.h"

namespace upsweep::web {
namespace {

// Of the texts that are shown: large enough for plans of many tiles.
constexpr std::uint64_t shown_items = 1u << 20;

struct Family {
  std::string_view name;
  std::unique_ptr<Ladder> (*make)();
  std::unique_ptr<Ladder> ladder = nullptr;
};
std::array families{Family{"reduce", reduce_ladder}, Family{"scan", scan_ladder}, Family{"histogram", histogram_ladder},
                    Family{"sort", sort_ladder}, Family{"spmv", spmv_ladder}};

Value number(std::uint64_t value) { return Value::of_number(static_cast<double>(value)); }

// Reads fields of a request; the first mistake is kept.
class Request {
 public:
  explicit Request(const Value& value) : value_(value) {}

  template <typename T>
  T get(std::string_view name) {
    T it{};
    const Value* value = value_.find(name);
    if (value != nullptr) reader_.read(*value, it, Place{name});
    return it;
  }
  [[nodiscard]] const std::string& error() const { return reader_.error(); }

 private:
  const Value& value_;
  Reader reader_;
};

Value refused(std::string message) { return error_value({ErrorKind::invalid_request, std::move(message)}); }

Value answer_plan(Result<Plan> plan) {
  if (!plan) return error_value(plan.error());
  Value answer = Value::object();
  answer.set("plan", plan_value(*plan));
  return answer;
}

Value bound_plan_value(const BoundPlan& bound) {
  Value arguments = Value::list();
  for (const BoundPlan::Argument& argument : bound.arguments) {
    Value one = Value::object();
    one.set("name", camel_case(argument.name)).set("buffer", argument.buffer);
    arguments.push(std::move(one));
  }
  Value value = Value::object();
  value.set("plan", plan_value(bound.plan)).set("arguments", std::move(arguments));
  return value;
}

Value verdict_value(const bench::Verdict& verdict) {
  Value value = Value::object();
  value.set("correct", verdict.correct).set("relative_error", Value::of_number(verdict.relative_error));
  return value;
}

Value steps_value(Ladder& ladder, const DeviceTraits& traits) {
  ladder.set_size(shown_items);
  Value steps = Value::list();
  for (const LadderStep& step : ladder.steps()) {
    std::string refusal = step.refusal;
    Value texts = Value::list();
    if (!step.on_cpu && refusal.empty()) {
      const auto work = ladder.work(step.id, traits);
      if (!work) {
        refusal = work.error().message;
      } else {
        std::vector<std::string_view> known;
        for (const Dispatch& dispatch : work->run.plan.dispatches) {
          if (std::ranges::contains(known, dispatch.kernel->text)) continue;
          known.push_back(dispatch.kernel->text);
          texts.push(dispatch.kernel->text);
        }
      }
    }
    Value one = Value::object();
    one.set("id", step.id)
        .set("name", step.title)
        .set("unit", ladder.unit())
        .set("on_cpu", step.on_cpu)
        .set("wgsl", std::move(texts))
        .set("supported", refusal.empty())
        .set("reason", refusal);
    steps.push(std::move(one));
  }
  Value answer = Value::object();
  answer.set("steps", std::move(steps));
  return answer;
}

Value size_value(const LadderSize& size) {
  Value value = Value::object();
  value.set("item_count", number(size.item_count))
      .set("output_bytes", number(size.output_bytes))
      .set("bytes_moved", number(size.bytes_moved))
      .set("flops", number(size.flops));
  return value;
}

Value work_value(const LadderWork& work, const std::vector<std::string>& have) {
  Value buffers = Value::list();
  for (const LadderBuffer& buffer : work.buffers) {
    if (std::ranges::contains(have, buffer.name)) continue;
    Value one = Value::object();
    one.set("name", buffer.name).set("size_bytes", number(buffer.size_bytes));
    if (buffer.fill) one.set("fill", plan_value(*buffer.fill));
    if (!buffer.bytes.empty()) one.set("bytes", Value::of_bytes(buffer.bytes));
    buffers.push(std::move(one));
  }
  Value before = Value::list();
  for (const BoundPlan& plan : work.before) before.push(bound_plan_value(plan));
  Value value = bound_plan_value(work.run);
  value.set("buffers", std::move(buffers)).set("before", std::move(before));
  return value;
}

std::span<const std::uint32_t> words_of(const std::string& bytes) {
  return {reinterpret_cast<const std::uint32_t*>(bytes.data()), bytes.size() / 4};
}

Value answer_family(Ladder& ladder, const std::string& call, Request& request, const Value& value) {
  if (call == "steps") return steps_value(ladder, request.get<DeviceTraits>("traits"));
  if (call == "size") return size_value(ladder.set_size(request.get<std::uint64_t>("items")));
  if (call == "work") {
    const auto step = request.get<std::string>("step");
    const auto traits = request.get<DeviceTraits>("traits");
    const auto have = request.get<std::vector<std::string>>("have");
    if (!request.error().empty()) return refused(request.error());
    const auto work = ladder.work(step, traits);
    return work ? work_value(*work, have) : error_value(work.error());
  }
  if (call == "run_cpu") {
    ladder.run_on_cpu(request.get<std::uint32_t>("repeats"));
    return Value::object();
  }
  if (call == "check_cpu") {
    ladder.begin_check();
    ladder.check(ladder.cpu_result());
    return verdict_value(ladder.end_check());
  }
  if (call == "begin_check") {
    ladder.begin_check();
    return Value::object();
  }
  if (call == "check") {
    const Value* words = value.find("words");
    if (words == nullptr || words->kind != Value::Kind::bytes) return refused("words are no bytes.");
    ladder.check(words_of(words->text));
    return Value::object();
  }
  if (call == "end_check") return verdict_value(ladder.end_check());
  return refused("There is no call \"" + call + "\".");
}

}  // namespace

Value answer_request(const Value& value) {
  Request request(value);
  const auto call = request.get<std::string>("call");
  if (call == "copy") {
    return answer_plan(bench::plan_copy(request.get<std::uint64_t>("words"), request.get<std::uint64_t>("workgroups"),
                                        request.get<DeviceTraits>("traits")));
  }
  if (call == "fill") {
    return answer_plan(bench::plan_fill(request.get<std::uint64_t>("words"), bench::InputKind::words,
                                        request.get<DeviceTraits>("traits")));
  }
  if (call == "poison") {
    return answer_plan(bench::plan_poison(request.get<std::uint64_t>("words"), request.get<std::uint32_t>("word"),
                                          request.get<DeviceTraits>("traits")));
  }
  const auto name = request.get<std::string>("family");
  const auto family = std::ranges::find(families, name, &Family::name);
  if (family == families.end()) return refused("There is no ladder \"" + name + "\".");
  if (family->ladder == nullptr) family->ladder = family->make();
  Value answer = answer_family(*family->ladder, call, request, value);
  return request.error().empty() ? std::move(answer) : refused(request.error());
}

}  // namespace upsweep::web
