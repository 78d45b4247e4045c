#!/usr/bin/env bash
# Runs the checks of action.yml with the keywright in PATH. All of them are run, also after one that fails; the step
# ends with the worst exit code. What it is given comes in variables only, and never as the name of a flag.
set -uo pipefail

worst=0
note() { if [ "$1" -gt $worst ]; then worst=$1; fi; }

# check runs one check for annotations and, if findings are wanted as a file, once more for that.
check() {
  local name=$1 code=0
  printf 'keywright %s\n' "$name"
  keywright "$@" --output=github ${rest[@]+"${rest[@]}"} || code=$?
  note $code
  if [ -n "$INPUT_SARIF" ] && [ $code -le 1 ]; then
    keywright "$@" --output=sarif ${rest[@]+"${rest[@]}"} >"$INPUT_SARIF/$name.sarif" || code=$?
    note $code
  fi
}

file=()
[ -z "$INPUT_FILE" ] || file=("--file=$INPUT_FILE")
[ -z "$INPUT_SARIF" ] || mkdir -p -- "$INPUT_SARIF" || exit 2
case $INPUT_SARIF in -*) INPUT_SARIF=./$INPUT_SARIF ;; esac

rest=(--)
while IFS= read -r line; do
  [ -z "$line" ] || rest+=("$line")
done <<<"$INPUT_LINT"
[ ${#rest[@]} -eq 1 ] || check lint "--fail-on=$INPUT_FAIL_ON"

rest=()
if [ "$INPUT_GEN" = true ]; then
  echo "keywright gen --check"
  keywright gen --check ${file[@]+"${file[@]}"} || note $?
fi
[ -z "$INPUT_BREAKING" ] || check breaking ${file[@]+"${file[@]}"} "--against=$INPUT_BREAKING" "--fail-on=$INPUT_FAIL_ON"

rest=(-- "$INPUT_AUDIT")
[ -z "$INPUT_AUDIT" ] || check audit ${file[@]+"${file[@]}"} "--fail-on=$INPUT_FAIL_ON"

exit $worst
