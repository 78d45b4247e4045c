#!/usr/bin/env bash
# All tests, those that the gate goes without too: races, campaigns, kills in numbers, mutants, compilers of three
# languages, databases, the browser. Seeds are new in each run; the logs have them, and KEYWRIGHT_TEST_SEED repeats one.
# It goes on after a stage that fails, and ends with one line for each test that failed.
#
#   scripts/test-all.sh [STAGE…]   the stages to run; without one all of them: see the end of this file
set -uo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS-} -trimpath -ldflags=-w"
logs=$PWD/.bin/test-all
rm -rf "$logs"
mkdir -p "$logs"
chosen=" $* " failed=()

# stage NAME COMMAND… runs a command, if its stage is chosen, and keeps what it prints.
stage() {
  local start=$SECONDS name=$1 end=green
  shift
  [ "$chosen" = "  " ] || [[ $chosen = *" $name "* ]] || return 0
  echo "--- $name; log: $logs/$name"
  "$@" >"$logs/$name" 2>&1 || { end=RED failed+=("$name"); .ci/failed "$logs/$name"; }
  echo "    $name: $end after $((SECONDS - start)) s"
}

tools() { scripts/install-test-deps.sh chromium && scripts/install-test-deps.sh prometheus; }

# One workspace of all modules, as the gate has it.
workspace() {
  rm -f .bin/go.work .bin/go.work.sum
  (cd .bin && GOWORK=$PWD/go.work go work init .. ../cmd/keywright ../cmd/keywrightd ../metrics ../tracing ../fallback/bbolt ../examples ../bench)
}
modules="./... ./cmd/keywright/... ./cmd/keywrightd/... ./metrics/... ./tracing/... ./fallback/bbolt/... ./examples/..."
tests() { GOWORK=$PWD/.bin/go.work go test -count=1 -shuffle=on -timeout 90m "$@"; }

every() { ALL_TESTS=1 tests -vet=off -p 4 -parallel 8 $modules; }
# The race detector makes tests take several times as long: it has those of the gate, with a new order.
races() { CGO_ENABLED=1 tests -race -vet=off -p 3 -parallel 6 $modules; }
# The mutants of each package that has guards are compiled, and a few, drawn, are shown; `make mutations` shows all.
mutants() {
  ALL_TESTS=1 KEYWRIGHT_MUTATIONS=some tests -vet=off -p 2 -run 'Mutations|TestGuards$' \
    $(git grep -lE 'mutation\.Run(In)?\(' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's,^,./,')
}
declarations() {
  ALL_TESTS=1 KEYWRIGHT_DECLARATIONS=${KEYWRIGHT_DECLARATIONS-100} tests -vet=off \
    -run 'TestEveryPlaceholderInEveryPlace$|TestHostileTextsCompile|TestManyDeclarations' ./gen/conformance
}
bench() { (cd bench && GOWORK=off go test -vet=all -count=1 -short ./...); }
browser() { scripts/build-dashboard.sh --check && make dashboard-test; }
prometheus() { make prometheus-test; }
release() { make release-test; }

mkdir -p .bin
[ -e .bin/staticcheck ] && [ "$chosen" != "  " ] || stage tools tools
workspace
for name in every races mutants declarations bench browser prometheus release; do
  stage $name $name
done
[ ${#failed[@]} = 0 ] || { echo "RED after $SECONDS s: ${failed[*]}"; exit 1; }
echo "all is well after $SECONDS s"
