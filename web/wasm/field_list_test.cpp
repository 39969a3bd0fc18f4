// SPDX-License-Identifier: Apache-2.0
// shapes.h lists every member of every struct that it lists at all, and every enumerator: what C++ gains must not be
// out of reach of JavaScript unnoticed.
#include "field_list.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "upsweep/upsweep.h"

namespace upsweep::web {

// Nobody reads or writes here.
template <typename T>
const FieldType* field_type() {
  return nullptr;
}

namespace {

template <typename T>
bool add_coverage(std::string_view name);

}  // namespace
}  // namespace upsweep::web

#define UPSWEEP_FIELDS(Type, ...)                                      \
  inline void list_fields(Type& it, FieldList& field) { __VA_ARGS__; } \
  const bool covers_##Type = add_coverage<Type>(#Type);
#include "shapes.h"

namespace upsweep::web {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Coverage {
  std::size_t member_count = 0;
  std::vector<std::size_t> unlisted;        // numbers of members
  std::vector<std::string_view> strangers;  // fields that are no members
};

std::map<std::string_view, Coverage>& coverages() {
  static std::map<std::string_view, Coverage> all;
  return all;
}

// An enumeration by what shapes.h calls its values and by their names in C++.
struct Enumeration {
  std::vector<std::string_view> listed;
  std::vector<std::string_view> in_order;
};

std::map<std::string_view, Enumeration>& enumerations() {
  static std::map<std::string_view, Enumeration> all;
  return all;
}

// "... value = upsweep::ScanKind::exclusive; ..."; a number after a cast where no enumerator has the value.
template <auto value>
constexpr std::string_view signature() {
  return __PRETTY_FUNCTION__;
}

template <auto value>
std::string_view enumerator_name() {
  std::string_view text = signature<value>();
  text.remove_prefix(text.find("value = ") + 8);
  text = text.substr(0, text.find_first_of(";]"));
  if (text.starts_with('(')) return {};
  return text.substr(text.rfind(':') + 1);
}

template <typename T>
void add_enumeration() {
  if constexpr (std::is_enum_v<T>) {
    // Without names nothing reads it.
    if constexpr (names_of<T>.size() != 0) {
      Enumeration found{.listed = {names_of<T>.begin(), names_of<T>.end()}, .in_order = {}};
      constexpr std::size_t tried = 16;
      [&]<std::size_t... i>(std::index_sequence<i...>) {
        (found.in_order.push_back(enumerator_name<static_cast<T>(i)>()), ...);
      }(std::make_index_sequence<tried>());
      std::erase(found.in_order, std::string_view());
      enumerations().emplace(signature<T{}>(), std::move(found));
    }
  }
}

template <typename T>
Coverage cover(T& it) {
  auto& [... members] = it;
  (add_enumeration<std::remove_cvref_t<decltype(members)>>(), ...);
  const std::vector<const void*> addresses{&members...};
  FieldList fields;
  if (addresses.size() <= FieldList::capacity) list_fields(it, fields);
  Coverage found{.member_count = addresses.size(), .unlisted = {}, .strangers = {}};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (!std::ranges::contains(fields, addresses[i], &Field::member)) found.unlisted.push_back(i);
  }
  for (const Field& field : fields) {
    if (!std::ranges::contains(addresses, field.member)) found.strangers.push_back(field.name);
  }
  return found;
}

template <typename T>
bool add_coverage(std::string_view name) {
  T it{};
  return coverages().emplace(name, cover(it)).second;
}

// What only the library sets: known operators go by their names.
const std::map<std::string_view, std::vector<std::size_t>> left_out{{"BinaryOperator", {0}}};

TEST(Fields, CoverEveryMember) {
  ASSERT_THAT(coverages().size(), testing::Ge(40u));
  for (const auto& [name, found] : coverages()) {
    const auto known = left_out.find(name);
    EXPECT_EQ(found.unlisted, known == left_out.end() ? std::vector<std::size_t>{} : known->second)
        << "members of " << name << ", counted from 0, that shapes.h does not list";
    EXPECT_THAT(found.strangers, IsEmpty()) << name;
  }
}

TEST(Fields, CoverEveryEnumerator) {
  ASSERT_THAT(enumerations().size(), testing::Ge(15u));
  for (const auto& [name, found] : enumerations()) EXPECT_EQ(found.listed, found.in_order) << name;
}

template <typename T>
std::size_t member_count() {
  T it{};
  auto& [... members] = it;
  return std::vector<const void*>{&members...}.size();
}

// plan_value.cpp writes plans without such a list: whoever adds a member writes it there and in web/src/plan.ts.
TEST(Plans, HaveTheMembersThatAreWritten) {
  EXPECT_EQ(member_count<Plan>(), 11u);
  EXPECT_EQ(member_count<Kernel>(), 11u);
  EXPECT_EQ(member_count<KernelBinding>(), 3u);
  EXPECT_EQ(member_count<LineOrigin>(), 2u);
  EXPECT_EQ(member_count<Dispatch>(), 8u);
  EXPECT_EQ(member_count<Grid>(), 5u);
  EXPECT_EQ(member_count<BoundRange>(), 5u);
  EXPECT_EQ(member_count<SlotId>(), 2u);
  EXPECT_EQ(member_count<ArgumentSlot>(), 4u);
  EXPECT_EQ(member_count<ScratchSlot>(), 6u);
  EXPECT_EQ(member_count<StateSlot>(), 2u);
}

// The checks themselves, on types of their own.
enum class Choice : std::uint8_t { first, second };
struct Incomplete {
  int listed = 0;
  std::string forgotten;
  bool also_listed = false;
};
[[maybe_unused]] void list_fields(Incomplete& it, FieldList& field) {
  field("listed", it.listed);
  field("also_listed", it.also_listed);
}

TEST(Fields, WhatIsForgottenIsSeen) {
  Incomplete it;
  const Coverage found = cover(it);
  EXPECT_THAT(found.unlisted, ElementsAre(1));
  EXPECT_EQ(found.member_count, 3u);
  EXPECT_EQ(enumerator_name<Choice::second>(), "second");
  EXPECT_EQ(enumerator_name<static_cast<Choice>(2)>(), "");
}

}  // namespace
}  // namespace upsweep::web
