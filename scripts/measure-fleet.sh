#!/usr/bin/env bash
# Audits a fleet on this machine by one `keywright serve`, and prints how long that took and the most memory it had.
#   scripts/measure-fleet.sh PROGRAM [servers=100] [keys of each=100000] [audits at once=8]
# The servers are filled before the clock starts. It needs redis-server, redis-cli and curl.
set -euo pipefail
program=$1 servers=${2-100} keys=${3-100000} at_once=${4-8}
dir=$(mktemp -d)
pids=()
ended() {
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$dir"
}
trap ended EXIT
port=21000
printf 'keywright: 1\nkeys:\n  user: {key: "user:{id}", type: string, ttl: none}\n' >"$dir/keyspace.yaml"
printf 'keywright_targets: 1\ntargets:\n' >"$dir/targets.yaml"
for i in $(seq "$servers"); do
  mkdir "$dir/$i"
  redis-server --port $((port + i)) --bind 127.0.0.1 --save '' --dir "$dir/$i" --logfile "$dir/$i/log" --io-threads 1 >/dev/null &
  pids+=($!)
  echo "  - {name: s$i, url: \"redis://127.0.0.1:$((port + i))\", declaration: keyspace.yaml}" >>"$dir/targets.yaml"
done
for i in $(seq "$servers"); do
  until redis-cli -p $((port + i)) PING >/dev/null 2>&1; do sleep 0.1; done
  redis-cli -p $((port + i)) EVAL 'for i = 1, tonumber(ARGV[1]) do redis.call("SET", "user:" .. i, "x") end' 0 "$keys" >/dev/null
done
echo "$servers servers with $keys keys each are there after $SECONDS s; load $(cut -d' ' -f1 /proc/loadavg)"
began=$(date +%s%N)
"$program" serve --targets "$dir/targets.yaml" --listen 127.0.0.1:20999 --store "$dir/h.db" --audits-at-once "$at_once" --rate 0 >/dev/null 2>"$dir/said" &
serve=$!
pids+=("$serve")
until [ "$(curl -s "http://127.0.0.1:20999/metrics" | grep -c "^keywright_audit_timestamp_seconds{")" = "$servers" ]; do
  kill -0 "$serve" || { cat "$dir/said"; exit 1; }
  sleep 0.2
done
took=$((($(date +%s%N) - began) / 1000000))
all=$(curl -s "http://127.0.0.1:20999/metrics" | grep '^keywright_keys{' | awk '{n += $NF} END {printf "%d", n}')
echo "audited $all keys in $took ms; most memory: $(awk '/VmHWM/ {print int($2 / 1024)}' "/proc/$serve/status") MiB"
[ "$all" = $((servers * keys)) ] || { echo "not all keys were seen" >&2; exit 1; }
