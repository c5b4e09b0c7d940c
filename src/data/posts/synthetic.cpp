#include "data/posts/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace lockstep {
namespace {

constexpr int topics = 24;
constexpr int common_words = 4000, topic_words = 1500, camp_words = 600, own_words = 40;
constexpr double density = 0.355;  // fraction of pairs that follow, as in the study's data

// Draws i = 0, 1, 2, ... with probability proportional to 1 / (i + 2).
class Zipf {
 public:
  explicit Zipf(int words) {
    double sum = 0;
    for (int i = 0; i < words; ++i) sums_.push_back(sum += 1.0 / (i + 2));
  }
  int draw(Rng& rng) const {
    const double at = rng.uniform() * sums_.back();
    return static_cast<int>(std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

struct User {
  int camp = 0;
  double popularity = 0, activity = 1;
  std::vector<double> interest;  // cumulative sum over topics
};

double shared_interest(const User& a, const User& b) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t t = 0; t < a.interest.size(); ++t) {
    const double x = a.interest[t] - (t > 0 ? a.interest[t - 1] : 0);
    const double y = b.interest[t] - (t > 0 ? b.interest[t - 1] : 0);
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return dot / std::sqrt(aa * bb);
}

std::vector<User> make_users(int64_t count, Rng& rng) {
  std::vector<User> users(static_cast<size_t>(count));
  for (User& user : users) {
    user.camp = rng.uniform() < 0.5 ? 0 : 1;
    user.popularity = rng.normal();
    user.activity = std::exp(0.8 * rng.normal());
    double sum = 0;
    for (int t = 0; t < topics; ++t) {
      // Camps prefer different topics; each user has a few favourites.
      const double lean = (t % 2 == user.camp) ? 1.0 : 0.35;
      user.interest.push_back(sum += lean * std::exp(1.5 * rng.normal()));
    }
  }
  return users;
}

FollowGraph make_follows(const std::vector<User>& users, Rng& rng) {
  std::vector<std::string> names;
  for (size_t u = 0; u < users.size(); ++u) names.push_back(fmt::format("user{:03}", u));
  FollowGraph graph(names);
  const auto size = static_cast<int64_t>(users.size());
  std::vector<double> odds;
  for (const User& a : users)
    for (const User& b : users)
      odds.push_back((a.camp == b.camp ? 1.8 : -1.8) + 5.0 * shared_interest(a, b) +
                     0.6 * b.popularity + 0.3 * rng.normal());
  // Bisection for the shift of the odds that gives `density`.
  double low = -20, high = 20;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (const double o : odds) sum += 1 / (1 + std::exp(-(o + middle)));
    (sum > density * static_cast<double>(odds.size()) ? high : low) = middle;
  }
  for (int64_t a = 0; a < size; ++a)
    for (int64_t b = 0; b < size; ++b) {
      const double chance = 1 / (1 + std::exp(-(odds[static_cast<size_t>(a * size + b)] + low)));
      if (a != b && rng.uniform() < chance) graph.add(a, b);
    }
  for (int64_t a = 0; a < size; ++a)
    graph.set_group(a, users[static_cast<size_t>(a)].camp == 0 ? "A" : "B");
  return graph;
}

std::string make_text(const User& user, int64_t author, const Zipf& common, const Zipf& topical,
                      const Zipf& camp, Rng& rng) {
  const double at = rng.uniform() * user.interest.back();
  const auto topic =
      std::upper_bound(user.interest.begin(), user.interest.end(), at) - user.interest.begin();
  const int words = 8 + static_cast<int>(rng.below(28));
  std::string text;
  for (int w = 0; w < words; ++w) {
    const double kind = rng.uniform();
    if (kind < 0.55)
      text += fmt::format("common{} ", common.draw(rng));
    else if (kind < 0.85)
      text += fmt::format("topic{}word{} ", topic, topical.draw(rng));
    else if (kind < 0.99)
      text += fmt::format("camp{}word{} ", user.camp, camp.draw(rng));
    else
      text += fmt::format("own{}word{} ", author, rng.below(own_words));
  }
  return text;
}

}  // namespace

SyntheticPosts synthetic_posts(int64_t posts, int64_t users, uint64_t seed) {
  constexpr uint64_t stream = 48;
  Rng rng(seed, Purpose::split, stream);
  const std::vector<User> people = make_users(users, rng);
  SyntheticPosts made{{}, {}, make_follows(people, rng)};
  std::vector<double> activity;
  double sum = 0;
  for (const User& user : people) activity.push_back(sum += user.activity);
  const Zipf common(common_words), topical(topic_words), camp(camp_words);
  for (int64_t i = 0; i < posts; ++i) {
    const double at = rng.uniform() * sum;
    const auto author = std::upper_bound(activity.begin(), activity.end(), at) - activity.begin();
    made.authors.push_back(static_cast<int32_t>(author));
    made.texts.push_back(
        make_text(people[static_cast<size_t>(author)], author, common, topical, camp, rng));
  }
  return made;
}

}  // namespace lockstep
