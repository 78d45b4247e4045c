#!/usr/bin/env bash
# Runs a benchmark of two builds in turn: that of a commit, and that of this tree. What the machine does meanwhile is in
# both, so that a loss is seen at once. The processor time of each run is told beside its tables.
#
#   scripts/bench-turns.sh COMMIT [PROGRAM [ROUNDS [ARGUMENT…]]]     make bench-turns THEN=COMMIT [OF=cachebench]
set -euo pipefail
cd "$(dirname "$0")/.."
commit=${1:?name the commit to compare with} program=${2:-cachebench} rounds=${3:-2}
shift $(($# < 3 ? $# : 3))
export GOWORK=off
work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/tree" "$commit"
(cd "$work/tree/bench" && go build -o "$work/then" "./cmd/$program")
(cd bench && go build -o "$work/now" "./cmd/$program")
TIMEFORMAT='processors: %U s in the program, %S s in the system; %R s passed'
for ((round = 1; round <= rounds; round++)); do
  for build in then now; do
    echo "== round $round, $build ($([ "$build" = then ] && echo "$commit" || echo "this tree"))"
    (cd bench && time "$work/$build" "$@")
  done
done
