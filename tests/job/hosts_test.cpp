#include "job/hosts.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace lockstep {
namespace {

std::string refusal(const std::string& list) {
  try {
    parse_hosts(list);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(HostList, NamesHostsAndTheirRanks) {
  const Hosts hosts = parse_hosts("a,b.example:4,10.0.0.3");
  ASSERT_EQ(hosts.all.size(), 3u);
  EXPECT_EQ(hosts.all[1].name, "b.example");
  EXPECT_EQ(hosts.all[1].slots, 4);
  EXPECT_EQ(hosts.slots(), 6);
}

TEST(HostList, MistakesAreNamed) {
  EXPECT_NE(refusal("a,b,a").find("a is listed twice"), std::string::npos);
  EXPECT_NE(refusal("a,,b").find("'' is not a host name"), std::string::npos);
  EXPECT_NE(refusal("a,-o").find("'-o' is not a host name"), std::string::npos);
  EXPECT_NE(refusal("a b").find("is not a host name"), std::string::npos);
  for (const char* list : {"a:0", "a:x", "a:-1", "a:99999", "a:"})
    EXPECT_NE(refusal(list).find("1 to 4096"), std::string::npos) << list;
}

TEST(HostList, CommandsReachAHostAsOneWord) {
  const Hosts hosts{.all = {{"a", 1}}, .agent = "/x/agent"};
  EXPECT_EQ(words_on_host(hosts, "a", {"run", "with space"}),
            (std::vector<std::string>{"/x/agent", "a", "exec run 'with space'"}));
  EXPECT_EQ(words_on_host(parse_hosts("a"), "a", {"run"}).front(), "ssh");
}

// Each host answers with a program of its own.
TEST(HostList, UnreachableHostsAndOtherVersionsAreNamed) {
  const fs::path agent = fs::path(::testing::TempDir()) / "hosts-test-agent";
  write_file(agent, std::string_view("#!/bin/sh\n"
                                     "case $1 in\n"
                                     "  gone) echo 'no route' >&2; exit 255 ;;\n"
                                     "  old) echo 'lockstep 0.1.0' ;;\n"
                                     "  *) echo 'lockstep 0.2.0' ;;\n"
                                     "esac\n"));
  fs::permissions(agent, fs::perms::owner_all);
  const auto refused = [&](const std::vector<Hosts::Host>& hosts) -> std::string {
    try {
      expect_reachable({.all = hosts, .agent = agent});
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refused({{"a", 1}, {"b", 1}}), "");
  EXPECT_NE(refused({{"a", 1}, {"gone", 1}}).find("gone (no route)"), std::string::npos);
  EXPECT_NE(refused({{"a", 1}, {"old", 1}}).find("old has lockstep 0.1.0"), std::string::npos);
  fs::remove(agent);
}

}  // namespace
}  // namespace lockstep
