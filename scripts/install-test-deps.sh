#!/usr/bin/env bash
# Installs what the tests need and is missing: redis-server, valkey-server (from
# Debian's backports), the YAML language server (npm) and staticcheck. It can be
# run again at any time. On other systems than Debian it says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

staticcheck_version=v0.8.2

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo --non-interactive env DEBIAN_FRONTEND=noninteractive "$@"; fi; }

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

lsp=keyspace/schema/testdata/lsp
if [ -f "$lsp/package-lock.json" ] && [ ! -d "$lsp/node_modules/yaml-language-server" ]; then
  command -v npm >/dev/null || { echo "missing: npm (Node 20 or later)" >&2; exit 1; }
  npm ci --prefix "$lsp" --no-audit --no-fund --ignore-scripts --loglevel=error
fi

if ! .bin/staticcheck -version 2>/dev/null | grep -q "${staticcheck_version#v}"; then
  GOWORK=off GOBIN="$PWD/.bin" go install "honnef.co/go/tools/cmd/staticcheck@$staticcheck_version"
fi
