#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// The words of a post, in lower case, hashtags with their mark. Retweet marks, mentions and links
// are dropped: they would name the accounts that are to be predicted. Bytes that are not UTF-8
// separate words.
std::vector<std::string> words_of(std::string_view post);

}  // namespace lockstep
