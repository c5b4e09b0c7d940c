#!/usr/bin/env bash
# aarch64_sysroot.sh FOLDER PACKAGE...: unpacks Debian's arm64 packages, and what they need, into FOLDER/root. The system's own
# packages and its list of architectures stay as they are.
set -euo pipefail
folder=$1
shift
wanted="$*"
[ "$(cat "$folder/packages" 2>/dev/null)" = "$wanted" ] && exit
rm -rf "$folder"
mkdir -p "$folder"/apt/{lists,archives}/partial "$folder/root"
touch "$folder/apt/status"
arm_apt() {
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= -o Debug::NoLocking=1 \
    -o Dir::State="$folder/apt" -o Dir::State::status="$folder/apt/status" -o Dir::Cache="$folder/apt" "$@"
}
arm_apt update
arm_apt install -y --download-only --no-install-recommends "$@" >/dev/null
for package in "$folder"/apt/archives/*.deb; do dpkg -x "$package" "$folder/root"; done
# Links to absolute paths would leave the folder.
find "$folder/root" -type l -lname '/*' | while read -r link; do ln -sfr "$folder/root$(readlink "$link")" "$link"; done
rm -rf "$folder/apt"
echo "$wanted" > "$folder/packages"
