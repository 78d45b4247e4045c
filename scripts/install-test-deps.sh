#!/usr/bin/env bash
# Installs what tests need and is missing. It can be run again at any time. On other systems than Debian it says what is
# missing.
#
#   scripts/install-test-deps.sh gate         what .ci/run needs: redis-server, valkey-server (from Debian's backports), a C
#                                             compiler, staticcheck, and by npm the TypeScript compiler
#   scripts/install-test-deps.sh              also what `make test-all` needs: PostgreSQL, redis-py, and by npm the YAML
#                                             language server, ioredis and what builds the dashboard
#   scripts/install-test-deps.sh chromium     also the browser of `make dashboard-test`
#   scripts/install-test-deps.sh prometheus   also what `make prometheus-test` scrapes and evaluates with
set -euo pipefail
cd "$(dirname "$0")/.."

staticcheck_version=v0.8.2

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo --non-interactive env DEBIAN_FRONTEND=noninteractive "$@"; fi; }

# A folder with a lock file is installed again when the lock file has changed.
node_modules() {
  local dir
  for dir in "$@"; do
    [ "$dir/node_modules/.package-lock.json" -nt "$dir/package-lock.json" ] && continue
    command -v npm >/dev/null || { echo "missing: npm (Node 20 or later)" >&2; return 1; }
    npm ci --prefix "$dir" --no-audit --no-fund --ignore-scripts --loglevel=error || return 1
  done
}

staticcheck() {
  .bin/staticcheck -version 2>/dev/null | grep -q "${staticcheck_version#v}" ||
    GOWORK=off GOBIN="$PWD/.bin" go install "honnef.co/go/tools/cmd/staticcheck@$staticcheck_version"
}

folders=(gen/conformance/node)
[ "${1-}" = gate ] ||
  folders+=(keyspace/schema/testdata/lsp examples/shop/ts examples/poppobuilder/worker cmd/keywright/internal/serve/dash/web)

# These wait for the network most of the time: the three at once.
node_modules "${folders[@]}" &
node=$!
staticcheck &
checker=$!

missing=()
for tool in redis-server redis-cli valkey-server; do command -v "$tool" >/dev/null || missing+=("$tool"); done

if [ ${#missing[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]} — install Redis >= 6.2 and Valkey >= 7.2 by your system's means" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  . /etc/os-release
  # A service must not start: tests start their own servers on free ports.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod +x "$policy"
    trap 'as_root rm -f "$policy"' EXIT
  fi
  as_root apt-get update -qq
  # Debian 12 has valkey in its backports only.
  if [ "$ID" = debian ] && ! apt-cache policy valkey-server | grep -q 'Candidate: [0-9]'; then
    echo "deb http://deb.debian.org/debian ${VERSION_CODENAME}-backports main" | as_root tee /etc/apt/sources.list.d/keywright-backports.list >/dev/null
    as_root apt-get update -qq
  fi
  as_root apt-get install -y -qq redis-server redis-tools >/dev/null
  as_root apt-get install -y -qq valkey-server >/dev/null || as_root apt-get install -y -qq -t "${VERSION_CODENAME}-backports" valkey-server >/dev/null
fi

# A C compiler and the headers of libc: tests move a server's clock by a library.
if ! echo '#include <stdlib.h>' | cc -E - >/dev/null 2>&1; then
  command -v apt-get >/dev/null || { echo "missing: cc, a C compiler" >&2; exit 1; }
  export DEBIAN_FRONTEND=noninteractive
  as_root apt-get install -y -qq gcc libc6-dev >/dev/null || { as_root apt-get update -qq && as_root apt-get install -y -qq gcc libc6-dev >/dev/null; }
fi

wait $node
wait $checker
[ "${1-}" != gate ] || exit 0

# PostgreSQL, whose programs Debian does not put into PATH. Neither a database is made nor a service started: each test
# has its own.
export DEBIAN_FRONTEND=noninteractive
if ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 && ! command -v initdb >/dev/null; then
  command -v apt-get >/dev/null || { echo "missing: PostgreSQL 13 or later" >&2; exit 1; }
  as_root mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo "create_main_cluster = false" | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
  as_root apt-get install -y -qq --no-install-recommends postgresql >/dev/null || { as_root apt-get update -qq && as_root apt-get install -y -qq --no-install-recommends postgresql >/dev/null; }
fi

# redis-py, of the distribution: examples/shop/py runs by the system's Python.
if ! /usr/bin/python3 -c 'import redis' 2>/dev/null; then
  command -v apt-get >/dev/null || { echo "missing: redis-py for /usr/bin/python3 (3.9 or later)" >&2; exit 1; }
  as_root apt-get install -y -qq python3-redis >/dev/null || { as_root apt-get update -qq && as_root apt-get install -y -qq python3-redis >/dev/null; }
fi

if [ "${1-}" = chromium ] && ! command -v chromium >/dev/null; then
  command -v apt-get >/dev/null || { echo "missing: chromium" >&2; exit 1; }
  as_root apt-get install -y -qq --no-install-recommends chromium fonts-noto-core >/dev/null || { as_root apt-get update -qq && as_root apt-get install -y -qq --no-install-recommends chromium fonts-noto-core >/dev/null; }
fi

# Debian's package would start a service: see above.
if [ "${1-}" = prometheus ] && ! command -v promtool >/dev/null; then
  command -v apt-get >/dev/null || { echo "missing: prometheus and promtool" >&2; exit 1; }
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod +x "$policy"
    trap 'as_root rm -f "$policy"' EXIT
  fi
  as_root apt-get install -y -qq --no-install-recommends prometheus >/dev/null || { as_root apt-get update -qq && as_root apt-get install -y -qq --no-install-recommends prometheus >/dev/null; }
fi
