#!/usr/bin/env bash
# Measures what `keywright serve` costs a server between its audits: the server's own CPU time and its commands
# (INFO cpu and stats; commands of scripts count), over a minute with it and a minute without.
#   scripts/measure-rest.sh PROGRAM [redis-server|valkey-server] [seconds=60]
# There are 40 queues, locks, rankings and streams each, and 100,000 keys. It needs the server, redis-cli and curl.
set -euo pipefail
program=$1 server=${2-redis-server} seconds=${3-60}
dir=$(mktemp -d)
pids=()
ended() {
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$dir"
}
trap ended EXIT
port=20997
cat >"$dir/keyspace.yaml" <<'YAML'
keywright: 1
package: p
owner: o
keys:
  tasks: {key: "jobs:{name}", type: queue, ttl: none}
  hold: {key: "lock:{n}", type: lock, ttl: 30s}
  best: {key: "top:{n}", type: ranking, member: text, ttl: 7d}
  log: {key: "log:{n}", type: stream, ttl: none}
  user: {key: "user:{id}", type: string, ttl: none}
YAML
"$server" --port $port --bind 127.0.0.1 --save '' --dir "$dir" --logfile "$dir/log" >/dev/null &
pids+=($!)
until redis-cli -p $port PING >/dev/null 2>&1; do sleep 0.1; done
redis-cli -p $port EVAL "for i = 1, 40 do redis.call('RPUSH', 'jobs:q' .. i, 'j'); redis.call('SET', 'lock:' .. i, 'w/1', 'EX', 3000)
  redis.call('ZADD', 'top:' .. i, 1, 'm'); redis.call('XADD', 'log:' .. i, '*', 'a', 1) end
  for i = 1, 100000 do redis.call('SET', 'user:' .. i, 'x') end" 0 >/dev/null
# counted prints CPU seconds and commands so far; it is a command itself.
counted() { redis-cli -p $port INFO cpu stats | tr -d '\r' | awk -F: '/^used_cpu_(sys|user):/ {c += $2} /^total_commands_processed/ {n = $2} END {print c, n}'; }
# over prints the share of a core and the commands in a second of the next seconds.
over() {
  read -r c0 n0 < <(counted)
  sleep "$seconds"
  read -r c1 n1 < <(counted)
  awk -v c="$c0 $c1" -v n="$n0 $n1" -v s="$seconds" -v what="$1" 'BEGIN {split(c, a, " "); split(n, b, " ")
    printf "%s: %.2f %% of a core, %.1f commands a second\n", what, 100 * (a[2] - a[1]) / s, (b[2] - b[1] - 1) / s}'
}
echo "$("$server" --version | cut -d' ' -f1-3); load $(cut -d' ' -f1 /proc/loadavg)"
over "the server alone"
"$program" serve -u "redis://127.0.0.1:$port" -f "$dir/keyspace.yaml" --listen 127.0.0.1:20996 --store none --audit-every 1h >/dev/null 2>"$dir/said" &
pids+=($!)
until curl -sf http://127.0.0.1:20996/readyz >/dev/null; do
  kill -0 "${pids[1]}" || { cat "$dir/said"; exit 1; }
  sleep 0.2
done
sleep 10 # scripts are loaded once
over "watched"
echo "load $(cut -d' ' -f1 /proc/loadavg)"
