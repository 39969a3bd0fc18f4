// SPDX-License-Identifier: Apache-2.0
#include "combinations.h"

#include <algorithm>
#include <cstddef>

namespace upsweep {
namespace {

// Pairs of levels, by factor and level, that no choice has held yet.
class OpenPairs {
 public:
  explicit OpenPairs(const std::vector<std::uint32_t>& level_counts) {
    for (const std::uint32_t count : level_counts) {
      first_.push_back(total_);
      total_ += count;
    }
    open_.assign(total_ * total_, true);
  }

  [[nodiscard]] bool is_open(std::size_t f, std::uint32_t a, std::size_t g, std::uint32_t b) const {
    return open_[(first_[f] + a) * total_ + first_[g] + b];
  }
  void close(std::size_t f, std::uint32_t a, std::size_t g, std::uint32_t b) {
    open_[(first_[f] + a) * total_ + first_[g] + b] = false;
    open_[(first_[g] + b) * total_ + first_[f] + a] = false;
  }

 private:
  std::vector<std::size_t> first_;
  std::size_t total_ = 0;
  std::vector<bool> open_;
};

// Fills the factors other than f and g with the levels that close most pairs.
void complete(Choice& choice, std::size_t f, std::size_t g, const std::vector<std::uint32_t>& level_counts,
              const OpenPairs& pairs, const IsPossible& is_possible) {
  std::vector<std::size_t> chosen{f, g};
  for (std::size_t next = 0; next < level_counts.size(); ++next) {
    if (next == f || next == g) continue;
    std::uint32_t best = 0;
    std::ptrdiff_t most = -1;
    for (std::uint32_t level = 0; level < level_counts[next]; ++level) {
      const auto gain = std::ranges::count_if(
          chosen, [&](std::size_t other) { return pairs.is_open(next, level, other, choice[other]); });
      if (gain <= most) continue;
      choice[next] = level;
      if (!is_possible(choice)) continue;
      best = level;
      most = gain;
    }
    choice[next] = best;
    chosen.push_back(next);
  }
}

}  // namespace

std::vector<Choice> choose_pairs(const std::vector<std::uint32_t>& level_counts, const IsPossible& is_possible) {
  OpenPairs pairs(level_counts);
  const std::size_t factors = level_counts.size();
  std::vector<Choice> choices;
  for (std::size_t f = 0; f < factors; ++f) {
    for (std::size_t g = f + 1; g < factors; ++g) {
      for (std::uint32_t a = 0; a < level_counts[f]; ++a) {
        for (std::uint32_t b = 0; b < level_counts[g]; ++b) {
          if (!pairs.is_open(f, a, g, b)) continue;
          Choice choice(factors, 0);
          choice[f] = a;
          choice[g] = b;
          if (!is_possible(choice)) continue;
          complete(choice, f, g, level_counts, pairs, is_possible);
          for (std::size_t i = 0; i < factors; ++i) {
            for (std::size_t j = i + 1; j < factors; ++j) pairs.close(i, choice[i], j, choice[j]);
          }
          choices.push_back(std::move(choice));
        }
      }
    }
  }
  return choices;
}

std::vector<Choice> choose_all(const std::vector<std::uint32_t>& level_counts, const IsPossible& is_possible) {
  std::vector<Choice> choices;
  Choice choice(level_counts.size(), 0);
  for (;;) {
    if (is_possible(choice)) choices.push_back(choice);
    std::size_t f = 0;
    while (f < choice.size() && ++choice[f] == level_counts[f]) choice[f++] = 0;
    if (f == choice.size()) return choices;
  }
}

}  // namespace upsweep
