#!/usr/bin/env bash
# Asks public databases for known vulnerabilities of what a release has: of the Go modules by govulncheck, of the npm
# packages by npm audit. `make release` runs it. For each question there is one line: "checked: …", "found: …", or "not
# checked: …" where a network does not allow it. It exits with 1 if something is found in what is released, and with 0
# if not, also where nothing could be checked: read the lines.
#
#   scripts/audit-deps.sh            all of it
#   scripts/audit-deps.sh install    only put govulncheck into .bin
#
# VULNDB is another database for govulncheck, as https://… or file://…, which has AUDIT_SECONDS (600) for each system;
# npm takes its registry from its own settings.
set -uo pipefail
cd "$(dirname "$0")/.."
govulncheck_version=v1.9.0
unset GOWORK GOFLAGS
export CGO_ENABLED=0
found=0
# macOS has no timeout: there a database that does not answer is waited for.
seconds=${AUDIT_SECONDS:-600}
limit=$(command -v timeout >/dev/null && echo "timeout $seconds") || limit=

# because prints the first line of a text that says what went wrong, or else its last one.
because() {
  local line
  line=$(grep -iE 'error|fail|no such|lookup|refused|denied|not found|disabled|[45][0-9][0-9] ' <<<"$1" | head -n 1)
  line=${line:-$(tail -n 1 <<<"$1")}
  cut -c 1-300 <<<"${line#govulncheck: }"
}

# install puts govulncheck into .bin, and prints why it cannot.
install() {
  go version -m .bin/govulncheck 2>/dev/null | grep "golang.org/x/vuln[[:space:]]$govulncheck_version" >/dev/null ||
    GOWORK=off GOBIN="$PWD/.bin" go install "golang.org/x/vuln/cmd/govulncheck@$govulncheck_version" 2>&1
}

# modules prints the line for what is called of modules and of Go's own library, by any program or package of the
# workspace, on the first system where something is found.
modules() {
  local what="Go modules" packages out code system
  out=$(install) || { echo "not checked: $what, because govulncheck cannot be installed: $(because "$out")"; return; }
  packages=$(awk '$1 ~ /^\.\// { print $1 "/..." }' go.work)
  for system in linux darwin windows; do
    code=0
    # shellcheck disable=SC2086
    out=$(GOOS=$system $limit .bin/govulncheck ${VULNDB:+-db "$VULNDB"} ./... $packages 2>&1) || code=$?
    [ $code != 124 ] || { echo "not checked: $what, because govulncheck had no answer in $seconds s"; return; }
    case $code in
      0) ;;
      3) printf '%s\n' "$out"
        echo "found: $what: $(grep -c '^Vulnerability #' <<<"$out") known by govulncheck on $system (above)"
        found=1
        return ;;
      *) echo "not checked: $what, because of govulncheck: $(because "$out")"; return ;;
    esac
  done
  echo "checked: $what by govulncheck${VULNDB:+ and $VULNDB}: no known vulnerability in code that is called"
}

# audited asks npm about the packages of a folder's lock file, and prints how many vulnerabilities it knows, or else why
# it does not. npm exits with 1 for both.
audited() {
  # No setting of npm that leaves packages out, or lets it ask nobody.
  env -u NODE_ENV npm audit --package-lock-only --json --no-offline --fetch-retries=0 --fetch-timeout=30000 "$@" 2>/dev/null | node -e '
    let text = require("fs").readFileSync(0, "utf8"), report = {};
    try { report = JSON.parse(text); } catch { report = { message: text }; }
    if (report.auditReportVersion) {
      for (const v of Object.values(report.vulnerabilities))
        for (const via of v.via) if (via.title) console.error(`${v.name}: ${via.severity}: ${via.title} ${via.url}`.replace(/[\0-\x1f\x7f-\x9f]/g, " "));
      console.log(report.metadata.vulnerabilities.total);
    } else {
      console.log("npm: " + (report.error?.summary || report.message || "it said nothing").trim().split("\n")[0]);
    }' 2>&1
}

# knows reports whether npm finds the vulnerabilities of a package that has some: a registry that answers every question
# with nothing would find none anywhere.
known_package=minimist known_version=0.0.8
knows() {
  local folder out
  folder=$(mktemp -d) || return
  cp .npmrc "$folder" 2>/dev/null
  printf '{"name": "page", "version": "1.0.0", "dependencies": {"%s": "%s"}}' $known_package $known_version >"$folder/package.json"
  printf '{"name": "page", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "page", "version": "1.0.0",
    "dependencies": {"%s": "%s"}}, "node_modules/%s": {"version": "%s"}}}' $known_package $known_version $known_package \
    $known_version >"$folder/package-lock.json"
  out=$(cd "$folder" && audited)
  rm -rf "$folder"
  [[ $(tail -n 1 <<<"$out") = [1-9]* ]]
}

# packages FOLDER WHAT REFUSES FLAG… prints the line for the packages of a folder.
packages() {
  local folder=$1 what=$2 refuses=$3 out
  shift 3
  command -v npm >/dev/null || { echo "not checked: $what, because npm is not installed"; return; }
  out=$(cd "$folder" && audited "$@")
  case $(tail -n 1 <<<"$out") in
    0) if (cd "$folder" && knows); then
        echo "checked: $what by npm audit: no known vulnerability"
      else
        echo "not checked: $what, because npm's registry knows no vulnerability of $known_package $known_version, which has some"
      fi ;;
    [1-9]*) sed '$d' <<<"$out"; echo "found: $what: $(tail -n 1 <<<"$out") known by npm audit (above)"; [ "$refuses" = no ] || found=1 ;;
    *) echo "not checked: $what, because of $(tail -n 1 <<<"$out")" ;;
  esac
}

[ "${1-}" != install ] || { install; exit; }
modules
packages cmd/keywright/internal/serve/dash/web "npm packages in the dashboard" yes --omit=dev
packages cmd/keywright/internal/serve/dash/web "npm packages that build and test the dashboard" no --include=dev --include=optional
exit $found
