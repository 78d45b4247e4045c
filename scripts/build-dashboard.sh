#!/usr/bin/env bash
# Builds the dashboard's files from their sources. With --check it only compares: files
# that are not what the sources make are an error.
set -euo pipefail
cd "$(dirname "$0")/../cmd/keywright/internal/serve/dash/web"

if ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
  command -v npm >/dev/null || { echo "missing: npm (Node 20.19 or later)" >&2; exit 1; }
  npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
fi

node_modules/.bin/tsc --noEmit
[ "${1-}" = --check ] || { node_modules/.bin/vite build --logLevel warn; exit; }

built=$(mktemp -d)
trap 'rm -r "$built"' EXIT
node_modules/.bin/vite build --logLevel error --outDir "$built/dist" --emptyOutDir
diff -rq "$built/dist" ../dist || { echo "the dashboard's files are stale: run scripts/build-dashboard.sh and commit them" >&2; exit 1; }
