#!/bin/sh
# Makes passwords and writes the files of a deployment into a new folder: secrets.sh DIR
# Run it once; the compose files use DIR as it is. With the units:
#   DIR/etc is /etc/harca of the machines of servers and sentinels. It belongs to the user harca.
#   DIR/operator.password is of the person who uses keywright, and stays with them.
#   DIR/harcad is /etc/harcad of the machines of harcad, which need no more than etc/tls/ca.crt
#   besides. It belongs to the user harca. No key ring and no password of the service is on
#   other machines.
set -eu
umask 077
from=$(cd "$(dirname "$0")" && pwd)
mkdir "$1" "$1/data" "$1/harcad"
etc=$1/etc
mkdir "$etc" "$etc/tls"
for service in redis redis-1 redis-2 sentinel-1 sentinel-2 sentinel-3 harcad; do
  mkdir "$1/data/$service"
done
word() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
hash() { printf %s "$1" | sha256sum | cut -d ' ' -f 1; }
memory=$(word)
replica=$(word)
sentinel=$(word)
operator=$(word)
for w in "$memory" "$replica" "$sentinel" "$operator"; do
  if [ ${#w} -ne 48 ]; then
    echo "secrets.sh: there is no /dev/urandom, or od does not read it" >&2
    exit 1
  fi
done

while read -r line; do
  case $line in
    'user short_term_memory '*) printf '%s #%s\n' "$line" "$(hash "$memory")" ;;
    'user operator '*) printf '%s #%s\n' "$line" "$(hash "$operator")" ;;
    'user replica '*) printf '%s #%s\n' "$line" "$(hash "$replica")" ;;
    'user sentinel '*) printf '%s #%s\n' "$line" "$(hash "$sentinel")" ;;
    *) printf '%s\n' "$line" ;;
  esac
done <"$from/users.acl" >"$etc/users.acl"

cp "$from/development.conf" "$etc/development.conf"
{
  cat "$from/production.conf"
  printf 'masteruser replica\nmasterauth %s\n' "$replica"
} >"$etc/redis.conf"
{
  cat "$from/sentinel.conf"
  printf 'sentinel auth-user mymaster sentinel\nsentinel auth-pass mymaster %s\n' "$sentinel"
  printf 'sentinel sentinel-user sentinel\nsentinel sentinel-pass %s\n' "$sentinel"
  printf 'user default off\n'
  printf 'user sentinel on #%s allchannels +@all\n' "$(hash "$sentinel")"
  printf 'user short_term_memory on #%s allchannels -@all +auth +hello +ping' "$(hash "$memory")"
  printf ' +client|getname +client|id +client|setname +client|tracking'
  printf ' +subscribe +unsubscribe +psubscribe +punsubscribe +info +role'
  printf ' +sentinel|get-master-addr-by-name +sentinel|sentinels +sentinel|replicas +sentinel|slaves\n'
} >"$etc/sentinel.conf"
printf '%s\n' "$operator" >"$1/operator.password"
printf 'REDIS_USERNAME=short_term_memory\nREDIS_PASSWORD=%s\n' "$memory" >"$1/harcad/harcad.env"
