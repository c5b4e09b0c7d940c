#!/usr/bin/env bash
# Tests an installed lockstep: builds the examples with find_package and runs them.
#   consumer.sh BUILD EXAMPLES [C++ compiler]
set -euo pipefail
build=$1 examples=$2 compiler=${3:-c++}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$folder/installed" >/dev/null
export LOCKSTEP_PREFIX=$folder/installed LOCKSTEP_DATA=$folder/cache
cmake -S "$examples" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/installed" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_STANDARD=20 -DCMAKE_BUILD_TYPE=Debug >/dev/null
cmake --build "$folder/build" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
cd "$folder"

accuracy_of() {  # the accuracy that a program prints, as a whole percentage
  "$folder/build/$1" | sed -n 's/^test accuracy \([0-9.]*\).*/\1/p' | awk '{printf "%d", $1 * 100}'
}
expect() {  # expect PROGRAM ACCURACY
  local found
  found=$(accuracy_of "$1")
  echo "$1: $found%"
  [ "${found:-0}" -ge "$2" ] || { echo "$1: expected an accuracy of at least $2%"; exit 1; }
}
expect train_cnn 85
expect own_layer 80
expect own_strategy 80
[ -f runs/train-cnn/model/model.safetensors ]
"$LOCKSTEP_PREFIX/bin/lockstep" verify runs/train-cnn >/dev/null

"$folder/build/predict_cluster" >predicted 2>said
cat predicted
[ "$(grep -c ' ranks: .* ms per step (.* to .*), speed-up ' predicted)" = 5 ]
awk '/^16 ranks/ {exit !($NF > 1 && $NF < 16)}' predicted
"$LOCKSTEP_PREFIX/bin/lockstep" --version
