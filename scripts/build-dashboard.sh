#!/usr/bin/env bash
# Builds the dashboard's files from their sources, and writes which sources these were (built-from) and which packages
# of others have code in the files (built-with, by vite.config.ts). With --check it only compares: files that are not
# what the sources make are an error.
set -euo pipefail
cd "$(dirname "$0")/../cmd/keywright/internal/serve/dash/web"

if ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
  command -v npm >/dev/null || { echo "missing: npm (Node 20.19 or later)" >&2; exit 1; }
  npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
fi

node_modules/.bin/tsc --noEmit
if [ "${1-}" != --check ]; then
  node_modules/.bin/vite build --logLevel warn
  # A test that needs no npm compares these digests with the sources.
  find . \( -path ./node_modules -o -path ./test -o -path ./fixtures -o -path ./screenshots \) -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum >../built-from
  exit
fi

built=$(mktemp -d)
trap 'rm -r "$built"' EXIT
node_modules/.bin/vite build --logLevel error --outDir "$built/dist" --emptyOutDir
{ diff -rq "$built/dist" ../dist && diff "$built/built-with" ../built-with; } || { echo "the dashboard's files are stale: run scripts/build-dashboard.sh and commit them" >&2; exit 1; }
