#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// The words of a post, ASCII letters in lower case, hashtags with their #. Retweet marks, mentions
// and links are dropped: they would reveal the accounts to predict. Invalid UTF-8 separates words.
std::vector<std::string> words_of(std::string_view post);

}  // namespace lockstep
