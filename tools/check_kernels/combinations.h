// SPDX-License-Identifier: Apache-2.0
// Choices of one level of each of several factors, for families whose whole product is too large.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace upsweep {

// One value of one property of a case.
template <typename Case>
struct Level {
  std::string name;
  std::function<void(Case&)> set;
};

// The values of one property. The first one is neutral: it goes with whatever the others may be.
template <typename Case>
using Factor = std::vector<Level<Case>>;

// The level of each factor.
using Choice = std::vector<std::uint32_t>;
using IsPossible = std::function<bool(const Choice&)>;

// Choices in which every possible pair of levels of two factors meets at least once. Levels not yet chosen are 0 when
// `is_possible` is asked.
std::vector<Choice> choose_pairs(const std::vector<std::uint32_t>& level_counts, const IsPossible& is_possible);
// Every possible choice.
std::vector<Choice> choose_all(const std::vector<std::uint32_t>& level_counts, const IsPossible& is_possible);

// Calls use(case, name) for each choice of `choose` (one of the above). is_possible(case) is told by the documents, not
// by a planner.
template <typename Case>
void for_each_case(const std::vector<Factor<Case>>& factors, decltype(choose_pairs)* choose,
                   const std::function<bool(const Case&)>& is_possible,
                   const std::function<void(const Case&, const std::string&)>& use) {
  std::vector<std::uint32_t> level_counts;
  level_counts.reserve(factors.size());
  for (const Factor<Case>& factor : factors) level_counts.push_back(static_cast<std::uint32_t>(factor.size()));
  const auto make = [&](const Choice& choice) {
    Case made;
    for (std::size_t f = 0; f < factors.size(); ++f) factors[f][choice[f]].set(made);
    return made;
  };
  for (const Choice& choice : choose(level_counts, [&](const Choice& c) { return is_possible(make(c)); })) {
    std::string name;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      const std::string& level = factors[f][choice[f]].name;
      if (!level.empty()) name += (name.empty() ? "" : ", ") + level;
    }
    use(make(choice), name);
  }
}

}  // namespace upsweep
