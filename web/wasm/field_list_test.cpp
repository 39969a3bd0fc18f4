// SPDX-License-Identifier: Apache-2.0
// shapes.h lists every member of every struct that it lists at all: one that C++ gains must not be out of reach of
// JavaScript unnoticed.
#include "field_list.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/upsweep.h"

namespace upsweep::web {
namespace {

// The numbers of the members that the list of a type has, and of all.
struct Coverage {
  std::vector<std::size_t> unlisted;
  std::size_t member_count = 0;
  std::vector<std::string_view> strangers;  // fields that are no members
};

std::map<std::string_view, Coverage>& coverages() {
  static std::map<std::string_view, Coverage> all;
  return all;
}

template <typename T>
Coverage cover(T& it) {
  FieldList fields;
  list_fields(it, fields);
  auto& [... members] = it;
  const std::vector<const void*> addresses{&members...};
  Coverage found{.unlisted = {}, .member_count = addresses.size(), .strangers = {}};
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

}  // namespace

// Nobody reads or writes here.
template <typename T>
const FieldType* field_type() {
  return nullptr;
}

}  // namespace upsweep::web

#define UPSWEEP_FIELDS(Type, ...)                                      \
  inline void list_fields(Type& it, FieldList& field) { __VA_ARGS__; } \
  const bool covers_##Type = add_coverage<Type>(#Type);
#include "shapes.h"

namespace upsweep::web {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

// The check itself, on structs of its own.
struct Incomplete {
  int listed = 0;
  std::string forgotten;
  bool also_listed = false;
};
[[maybe_unused]] void list_fields(Incomplete& it, FieldList& field) {
  field("listed", it.listed);
  field("also_listed", it.also_listed);
}

TEST(Fields, ForgottenMembersAreSeen) {
  Incomplete it;
  const Coverage found = cover(it);
  EXPECT_THAT(found.unlisted, ElementsAre(1));
  EXPECT_EQ(found.member_count, 3u);
}

}  // namespace
}  // namespace upsweep::web
