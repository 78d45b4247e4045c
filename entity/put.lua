-- put: writes whole items, each with all its index entries, or refuses and changes nothing: what `write` does, in the form that the most frequent writes have.
-- Its text is made for one entity: names, kinds of indexes and TTLs stand in it, since each argument costs a server as much as half a command.
-- Each call is one item; an error in one does not touch the others.
--
-- KEYS of a call: the item's hash, the expiry zset (any key again if items never expire), the ledger, a key per index (the ledger where the item is in none), then the keys that the id leaves
-- ARGV[1] calls; then for each call
--   the item's id, the ledger record it expects if there is one ('' the one it leaves), the one it leaves
--   condition: 'absent', 'present', 'any', or the version that the item must have
--   TTL in ms ('' leaves it, '0' none), '1' to renew the TTL of the index keys, how many keys the id leaves
--   a text per event of a creation: its data; a text per field that the server does not stamp (an optional one: '=' and the text, '' if it is missing)
--   per key that the id leaves 's' or 'z'
-- Returns per call the version of a new item (the server time in ms if it has none), else {code, text, server time in ms}: 'ok' and the version; 'record' and the one found; 'absent'; 'present' or 'version' and the version found
-- Round trips: 1
local call, KEYS, ARGV = redis.call, KEYS, ARGV
local t = call('TIME')
local micros = t[1] .. string.sub('00000' .. t[2], -6)
local now = string.sub(micros, 1, -4)
local stamp = now --$unit
local ends, seen = {}, {}

-- renew gives a key its TTL, once.
local function renew(key)
  if not seen[key] then
    call('PEXPIRE', key, '$keep')
    seen[key] = true
  end
end

local new -- whether the call at work is about to make an item

-- undo takes back what an item that could not be made has left.
local function undo(k, a)
  local try, id = redis.pcall, ARGV[a + 1]
  try('UNLINK', KEYS[k + 1])
  try('HDEL', KEYS[k + 3], id)
  if KEYS[k + 2] ~= KEYS[k + 3] then try('ZREM', KEYS[k + 2], id) end
  for i = 4, --$keys do
    try('SREM', KEYS[k + i], id) -- of another type it is refused
    try('ZREM', KEYS[k + i], id)
  end
  for i = 1, ARGV[a + 7] do try(ARGV[a + --$args + i] == 'z' and 'ZREM' or 'SREM', KEYS[k + --$keys + i], id) end
  seen = {}
end

local function put(k, a)
  local hash, expires, ledger, id = KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], ARGV[a + 1]
  local record, condition, ttl = ARGV[a + 3], ARGV[a + 4], ARGV[a + 5]
  local version, created, there
  if condition == 'absent' then
    if call('EXISTS', hash) == 1 then return {'present', --$version or '0', now} end
  else
    --$look
    there = version or call('EXISTS', hash) == 1
    version = version or '0'
    if condition ~= 'any' then
      if not there then return {'absent', '', now} end
      if condition ~= 'present' and condition ~= version then return {'version', version, now} end
    end
  end
  -- One command asks whether any of the keys is new: that costs less than to renew each.
  local due = --$keeps and (ARGV[a + 6] == '1' or call('EXISTS', --$all) < --$others)

  -- The ledger goes first: whatever fails below, it is known where entries may be.
  local had = there and call('HGET', ledger, id)
  if not had and call('HSETNX', ledger, id, record) == 0 then had = call('HGET', ledger, id) end
  if had then
    local expected = ARGV[a + 2]
    if had ~= (expected == '' and record or expected) then return {'record', had, now} end
    if had ~= record then call('HSET', ledger, id, record) end
  end
  new = not there
  if due then renew(ledger) end
  local at
  if ttl ~= '' and ttl ~= '0' then
    at = ends[ttl]
    if not at then
      at = string.format('%.0f', now + ttl)
      ends[ttl] = at
    end
    call('ZADD', expires, at, id)
    if due then renew(expires) end
  elseif expires ~= ledger and not there then
    call('ZREM', expires, id) -- of one that had expired
  end
  if there and version ~= '0' then
    version = string.format('%.0f', version + 1)
  else
    version = micros
  end
  --$fields
  if at then call('PEXPIRE', hash, ttl) end

  local last = k + --$keys
  for i = 1, ARGV[a + 7] do
    local key = KEYS[last + i]
    local reply = redis.pcall(ARGV[a + --$args + i] == 'z' and 'ZREM' or 'SREM', key, id)
    -- In a key of another type there is no entry.
    if type(reply) == 'table' and not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
    seen[key] = nil -- it may be gone now
  end
  --$indexes
  if there then return {'ok', version, now} end
  --$events
  return --$answer
end

local out, a, k = {}, 1, 0
for i = 1, tonumber(ARGV[1]) do
  new = false
  local ok, reply = pcall(put, k, a)
  if not ok and new then undo(k, a) end
  if ok then
    out[i] = reply
  elseif type(reply) == 'table' and reply.err then
    out[i] = {err = reply.err}
  else
    out[i] = {err = 'ERR ' .. tostring(reply)}
  end
  local drops = tonumber(ARGV[a + 7])
  k = k + --$keys + drops
  a = a + --$args + drops
end
return out
