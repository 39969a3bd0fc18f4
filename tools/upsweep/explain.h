// SPDX-License-Identifier: Apache-2.0
// What the explain commands share: each makes a plan, prints it, and with --dump runs it on made-up items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "upsweep/count.h"
#include "upsweep/device_traits.h"
#include "upsweep/element.h"
#include "upsweep/plan.h"

namespace upsweep::cli {

struct ExplainOptions {
  std::string items;
  std::string type = "f32";
  std::string traits = "device";
  bool device_count = false;
  bool dump = false;
  bool wgsl = false;

  [[nodiscard]] Count count(std::uint64_t count) const {
    return device_count ? Count::on_device(count) : Count::on_host(count);
  }
};

// What to plan goes first, what to show of it last.
inline constexpr const char* items_description = "Items, as 1000000, 1e6 or 2^20";
void add_items(CLI::App& command, ExplainOptions& options, const char* items = items_description);
void add_item_options(CLI::App& command, ExplainOptions& options, const char* items);
void add_view_options(CLI::App& command, ExplainOptions& options);

// The traits to plan for, and the device that has them, if one is used.
struct ExplainDevice {
  std::unique_ptr<Context> context;
  DeviceTraits traits;
};
// Refuses to dump so many items or segments that nobody would read them.
Expected<ExplainDevice> open_explained(const Program& program, const ExplainOptions& options, std::uint64_t most_count);

// An argument of the plan: made-up items, or none for results, of which only the type is needed.
struct DumpArgument {
  std::string name;
  ElementType type;
  std::vector<std::byte> bytes = {};
};
// The digits 0 to 9 in a scrambled order, in every component; each comes `run_length` times.
std::vector<std::byte> sample_items(const ElementType& type, std::uint64_t count, std::uint64_t run_length = 1);
DumpArgument words_argument(std::string name, const std::vector<std::uint32_t>& values);

// Prints the plan, once the device has compiled `texts` of the user's, if there is one. With --dump runs it and prints
// what goes in, what the scratch slots hold after each pass, and the results. Where the plan counts its results, so
// many of each.
Outcome explain(const ExplainOptions& options, const ExplainDevice& device, const Plan& plan,
                const std::vector<DumpArgument>& arguments, const std::vector<UserText>& texts = {});

}  // namespace upsweep::cli
