// SPDX-License-Identifier: Apache-2.0
// Kernels of reductions. The whole product of what a plan may depend on has millions of members; what interacts in the
// text is multiplied out, the rest is tried on representatives:
//   every operator x every type x one pass, many passes x initial value, with and without subgroups; representatives on
//   every other fold path
//   representatives x segments x counts x (initial value or second input) x tunings x two devices
//   transforms x types; tunings x devices; every number of threads a segment
#include <format>
#include <optional>
#include <string>
#include <vector>

#include "kernel_cases.h"
#include "upsweep/reduce.h"

namespace upsweep {
namespace {

constexpr std::uint64_t some_items = 1000;              // one pass, but in tiny tunings
constexpr std::uint64_t many_items = 100000000;         // more than one pass, and more than one binding for wide types
constexpr std::uint64_t several_passes_items = 100000;  // several passes of tiny tiles

struct NamedTuning {
  const char* name;
  std::optional<ReduceTuning> tuning;
};

const NamedTuning library{"library's tuning", std::nullopt};

ReduceTuning tiny_tuning() {
  return {
      .workgroup_size = 4, .units_per_thread = 2, .max_workgroups = 64, .longest_chain = 3, .one_workgroup_items = 8};
}

ReduceTuning many_passes() { return {.single_pass = false}; }

std::vector<NamedTuning> all_tunings() {
  return {
      library,
      {"tiny tiles", tiny_tuning()},
      {"many passes", many_passes()},
      {"no vectors", ReduceTuning{.use_vectors = false}},
      {"no subgroups", ReduceTuning{.use_subgroups = false}},
      {"one thread", ReduceTuning{.workgroup_size = 1, .units_per_thread = 2}},
      {"64 threads x 64", ReduceTuning{.workgroup_size = 64, .units_per_thread = 64}},
      {"128 threads x 3", ReduceTuning{.workgroup_size = 128, .units_per_thread = 3}},
  };
}

void add_case(KernelSink& sink, const ReduceShape& shape, const NamedTraits& device, const NamedTuning& tuning,
              std::string_view note) {
  const auto plan = plan_reduce(shape, device.traits, tuning.tuning);
  const std::string what = std::format("reduce: {} of {}, {}, {}, {}", to_string(shape.combine), shape.input.name, note,
                                       device.name, tuning.name);
  if (is_defined(shape.combine, shape.value.value_or(shape.input))) {
    sink.add(what, plan);
  } else {
    sink.expect_refused(what, plan);
  }
}

void add_operators_and_types(KernelSink& sink, const std::vector<Item>& items) {
  for (const Item& item : items) {
    std::vector<BinaryOperator> operators = well_known_operators();
    operators.push_back(custom_operator(item, true));
    operators.push_back(custom_operator(item, false));
    for (const BinaryOperator& op : operators) {
      for (const NamedTraits& device : all_traits()) {
        // What these devices change does not look into the operator: a few of each accumulator do.
        const bool is_representative =
            op.kind == OperatorKind::sum || op.kind == OperatorKind::argmin || op.kind == OperatorKind::custom;
        const bool changes_little = device.traits.subgroup_id_builtin || device.traits.emulated_subgroup_size != 0;
        if (changes_little && !is_representative && is_defined(op, item.type)) continue;
        ReduceShape shape{.input = item.type, .combine = op};
        for (const std::uint64_t count : {some_items, many_items}) {
          shape.item_count = Count::on_host(count);
          shape.init.reset();
          add_case(sink, shape, device, library, std::format("{} items", count));
          if (is_arg(op)) continue;
          shape.init = zeros(item.type);
          add_case(sink, shape, device, library, std::format("{} items, init", count));
        }
        shape.init.reset();
        ReduceTuning passes = select_reduce_tuning(shape, device.traits);
        passes.single_pass = false;
        add_case(sink, shape, device, {"many passes", passes}, "many items");
      }
    }
  }
  // The one result type that can be chosen.
  for (const BinaryOperator& op : {BinaryOperator::sum(), BinaryOperator::max()}) {
    for (const std::uint64_t count : {some_items, many_items}) {
      const ReduceShape shape{.item_count = Count::on_host(count),
                              .input = ElementType::f16(),
                              .combine = op,
                              .output = ElementType::f32()};
      for (const NamedTraits& device : all_traits()) {
        add_case(sink, shape, device, library, "f32 result");
      }
    }
  }
}

struct NamedShape {
  std::string name;
  Count item_count;
  Segmentation segments;
};

std::vector<NamedShape> all_divisions() {
  std::vector<NamedShape> shapes;
  for (const bool on_device : {false, true}) {
    const auto count = [&](std::uint64_t n) { return on_device ? Count::on_device(n) : Count::on_host(n); };
    const std::string_view where = on_device ? "on the device" : "on the host";
    for (const std::uint64_t n : {std::uint64_t{0}, some_items, several_passes_items}) {
      shapes.push_back({std::format("{} items counted {}", n, where), count(n), Segmentation::whole()});
    }
    for (const std::uint32_t length : {0u, 1u, 3u, 100u, 5000u, 1000000u}) {
      shapes.push_back({std::format("7 rows of {} counted {}", length, where), Count::on_host(0),
                        Segmentation::rows(count(7), length)});
    }
    for (const std::uint64_t n : {std::uint64_t{0}, some_items}) {
      shapes.push_back({std::format("40 segments of {} items counted {}", n, where), Count::on_host(n),
                        Segmentation::offsets(count(40))});
    }
  }
  return shapes;
}

void add_divisions(KernelSink& sink, const std::vector<Item>& items, const std::vector<Item>& user_types) {
  const std::vector<Item> all_items{items[0], items[2], items[3], items[4], items[9], user_types[0], user_types[1]};
  const std::vector<NamedTraits> traits = all_traits();
  for (const Item& item : all_items) {
    std::vector<BinaryOperator> operators{custom_operator(item, true), custom_operator(item, false)};
    if (!item.type.is_struct()) operators.push_back(BinaryOperator::sum());
    if (item.type == ElementType::f32()) {
      operators.push_back(BinaryOperator::max());
      operators.push_back(BinaryOperator::argmin());
    }
    for (const BinaryOperator& op : operators) {
      for (const NamedShape& division : all_divisions()) {
        for (const bool has_init : {false, true}) {
          for (const bool has_second : {false, true}) {
            // Their texts meet nowhere.
            if (has_init && (has_second || is_arg(op))) continue;
            ReduceShape shape{
                .item_count = division.item_count, .input = item.type, .combine = op, .segments = division.segments};
            if (has_init) shape.init = zeros(item.type);
            if (has_second) {
              shape.second_input = ElementType::f32();
              shape.transform = Transform::of("weighted(x, y, i)",
                                              std::format("fn weighted(x: {0}, y: f32, i: u32) -> {0} {{\n  if (y == "
                                                          "f32(i)) {{ return {0}(); }}\n  return x;\n}}\n",
                                                          item.value_type));
            }
            const std::string note =
                std::format("{}{}{}", division.name, has_init ? ", init" : "", has_second ? ", second input" : "");
            add_case(sink, shape, traits[0], library, note);
            add_case(sink, shape, traits[1], {"tiny tiles", tiny_tuning()}, note);
          }
        }
      }
    }
  }
}

void add_transforms(KernelSink& sink) {
  struct Case {
    ElementType input;
    Transform transform;
    std::optional<ElementType> value;
    std::optional<ElementType> second;
  };
  const ElementType f32 = ElementType::f32();
  const std::vector<Case> cases{
      {f32, Transform::abs(), {}, {}},
      {f32, Transform::square(), {}, {}},
      {f32, Transform::clamp("0.0", "1.0"), {}, {}},
      {f32, Transform::flush_subnormals(), {}, {}},
      {f32, Transform::of("x * f32(i)"), {}, {}},
      {f32, Transform::of("x * y"), {}, f32},
      {f32, Transform::of("vec2f(x, x * x)"), ElementType::vec(Scalar::f32, 2), {}},
      {f32, Transform::of("u32(x > 0.5)"), ElementType::u32(), {}},
      {ElementType::i32(), Transform::abs(), {}, {}},
      {ElementType::i32(), Transform::clamp("-1i", "1i"), {}, {}},
      {ElementType::u32(), Transform::of("vec2u(x, 0u)"), ElementType::u64(), {}},
      {ElementType::u32(), Transform::of("f32(x) - y"), f32, ElementType::f16()},
      {ElementType::u64(), Transform::of("x.x ^ x.y"), ElementType::u32(), {}},
      {ElementType::f16(), Transform::square(), f32, {}},
      {ElementType::f16(), Transform::of("x * y"), {}, ElementType::f16()},
      {ElementType::vec(Scalar::f32, 4), Transform::of("dot(x, y)"), f32, ElementType::vec(Scalar::f32, 4)},
      {ElementType::vec(Scalar::f32, 2), Transform::abs(), {}, {}},
  };
  for (const Case& each : cases) {
    for (const NamedTraits& device : all_traits()) {
      for (const std::uint64_t count : {some_items, many_items}) {
        const ReduceShape shape{.item_count = Count::on_host(count),
                                .input = each.input,
                                .second_input = each.second,
                                .transform = each.transform,
                                .value = each.value,
                                .combine = BinaryOperator::sum()};
        add_case(sink, shape, device, library, std::format("transform {}", each.transform.expression));
      }
    }
  }
}

void add_tunings(KernelSink& sink, const std::vector<Item>& items, const std::vector<Item>& user_types) {
  std::vector<NamedTraits> devices = all_traits();
  // A device with more than the default limits, and tunings that use it.
  NamedTraits large{"subgroup_id, large workgroups", devices[1].traits};
  large.traits.max_workgroup_size = 1024;
  large.traits.max_workgroup_bytes = 49152;
  const NamedTuning large_tuning{"1024 threads", ReduceTuning{.workgroup_size = 1024}};
  NamedTraits hiding{"hidden chunks", devices[0].traits};
  hiding.traits.test_hidden_chunks = 3;
  devices.push_back(hiding);
  const auto add = [&](const Item& item, const BinaryOperator& op) {
    for (const std::uint64_t count : {some_items, several_passes_items}) {
      const ReduceShape shape{.item_count = Count::on_host(count), .input = item.type, .combine = op};
      for (const NamedTraits& device : devices) {
        for (const NamedTuning& tuning : all_tunings()) add_case(sink, shape, device, tuning, "tunings");
      }
      add_case(sink, shape, large, large_tuning, "tunings");
    }
  };
  add(items[0], BinaryOperator::sum());
  add(items[2], BinaryOperator::argmax());
  add(items[2], custom_operator(items[2], true));
  add(items[5], BinaryOperator::min());
  add(user_types[0], custom_operator(user_types[0], false));
  add(user_types[1], custom_operator(user_types[1], true));
  // Tiles of one item: passes without end.
  const ReduceShape endless{.item_count = Count::on_host(some_items), .combine = custom_operator(items[2], false)};
  sink.expect_refused(
      "reduce: tiles of one item",
      plan_reduce(endless, devices[0].traits, ReduceTuning{.workgroup_size = 1, .units_per_thread = 1}));
}

void add_segment_threads(KernelSink& sink) {
  const std::vector<NamedTraits> traits = all_traits();
  for (std::uint64_t average = 1; average <= 2048; average *= 2) {
    for (const bool commutes : {true, false}) {
      const Item item{ElementType::u32(), "u32"};
      const ReduceShape shape{.item_count = Count::on_host(average * 50),
                              .input = item.type,
                              .combine = commutes ? BinaryOperator::sum() : custom_operator(item, false),
                              .segments = Segmentation::offsets(Count::on_host(50))};
      add_case(sink, shape, traits[0], library, std::format("segments of {}", average));
    }
  }
}

}  // namespace

void add_reduce_kernels(KernelSink& sink) {
  const std::vector<Item> items = built_in_items();
  const std::vector<Item> user_types = structs(sink);
  std::vector<Item> all_items = items;
  all_items.insert(all_items.end(), user_types.begin(), user_types.end());
  add_operators_and_types(sink, all_items);
  add_divisions(sink, items, user_types);
  add_transforms(sink);
  add_tunings(sink, items, user_types);
  add_segment_threads(sink);
}

}  // namespace upsweep
