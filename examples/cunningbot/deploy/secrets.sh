#!/bin/sh
# Makes the folder that compose.yaml runs from: secrets.sh FOLDER
# It has .env, etc/redis.conf, etc/users.acl (hashes of passwords) and etc/keyspace.yaml.
set -eu
umask 077
here=$(cd "$(dirname "$0")" && pwd)
to=${1:?say where: secrets.sh FOLDER}
[ ! -e "$to/.env" ] || { echo "$to/.env is there already: its passwords may be in use" >&2; exit 1; }
mkdir -p "$to/etc/scripts" "$to/data/redis" "$to/data/state" "$to/data/backups"
cp "$here/redis.conf" "$to/etc/redis.conf"
cp "$here/../keyspace.yaml" "$to/etc/keyspace.yaml"
cp "$here"/../scripts/*.lua "$to/etc/scripts/"
cp "$here/env.example" "$to/.env.new"
: >"$to/etc/users.acl"
while read -r word name rules; do
  if [ "$name" = default ]; then
    echo "$word $name $rules" >>"$to/etc/users.acl"
    continue
  fi
  password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
  hash=$(printf %s "$password" | sha256sum | cut -d' ' -f1)
  echo "$word $name $rules #$hash" >>"$to/etc/users.acl"
  variable=$(echo "${name}_PASSWORD" | tr a-z A-Z)
  grep -q "^$variable=" "$to/.env.new" || { echo "env.example has no $variable" >&2; exit 1; }
  sed "s/^$variable=.*/$variable=$password/" "$to/.env.new" >"$to/.env.newer"
  mv "$to/.env.newer" "$to/.env.new"
done <"$here/users.acl"
mv "$to/.env.new" "$to/.env"
