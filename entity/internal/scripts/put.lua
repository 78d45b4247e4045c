-- put: writes whole items, each with all its index entries, or refuses and changes nothing: what `write` does, in the
--   form that the most frequent writes have.
-- Its text is made for one entity: names, kinds of indexes and TTLs are in it, since each argument costs a server as much
-- as half a command. Each call is one item; an error in one does not touch the others.
-- KEYS[1] expires: the expiry zset (any key again if items never expire)
-- KEYS[2] index_records
-- KEYS[3…] key: for each call the item's hash, a key per index (that of the index records where the item is
--   in none), the keys that the id leaves
-- ARGV[1] calls: how many
-- ARGV[2…] part: for each call
--   the item's id, the index record it leaves, TTL in ms ('' leaves it, '0' none)
--   how it is written: '' makes an item of which nothing is left, '+' does and renews the TTL of the index keys; else '1'
--     to renew it or '0', how many keys the id leaves, ' ', the condition ('absent', 'present', 'any', or the version
--     that the item must have), ' ', and the index record it expects if there is one ('' the one it leaves)
--   what the writer knows of indexes as a whole, see `marks`
--   a text per event of a creation: its data; a text per field that the server does not stamp (an optional one: '=' and
--     the text, '' if it is missing)
-- Returns: per call the version of a new item (the server time in ms if it has none), else {code, text, server time in
--   ms}: 'ok' and the version; 'record' and the one found; 'indexes' and what is said of them as a whole; 'absent';
--   'present' or 'version' and the version found
-- Bound: O(calls × (fields + indexes + events)), 64 calls
-- Round trips: 1
-- include: time
local call, KEYS, ARGV = redis.call, KEYS, ARGV
local expires, index_records, calls = KEYS[1], KEYS[2], tonumber(ARGV[1])
local _, time = clock()
local micros = string.format('%.0f', time)
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

-- ending is when a TTL that begins now is over.
local function ending(ttl)
  local at = ends[ttl]
  if not at then
    at = string.format('%.0f', now + ttl)
    ends[ttl] = at
  end
  return at
end

-- include: keys

local filled = {} -- indexes that were looked at and have entries

-- vacant is whether an index has no entry. One of another type is refused, before anything is written.
local function vacant(key)
  if filled[key] then return false end
  local n = look('ZCARD', key)
  if n > 0 then filled[key], types[key] = true, 'zset' end
  return n == 0
end

-- include: marks
-- include: versions

local allowed = {}

-- may refuses a channel that the user may not use. A server before 7.0 cannot be asked.
local function may(command, channel)
  if allowed[channel] then return end
  if redis.acl_check_cmd and not redis.acl_check_cmd(command, channel, '') then
    error({err = 'NOPERM the user of this connection may not send the event of a change'}, 0)
  end
  allowed[channel] = true
end

-- undo takes back what an item that could not be made has left.
local function undo(k, a, drops)
  local try, id = redis.pcall, ARGV[a + 1]
  try('UNLINK', KEYS[k + 1])
  try('HDEL', index_records, id)
  pcall(tidy, index_records)
  if expires ~= index_records then try('ZREM', expires, id) end
  for i = 2, --$keys do
    try('ZREM', KEYS[k + i], id) -- of another type it is refused
  end
  for i = 1, drops do try('ZREM', KEYS[k + --$keys + i], id) end
  seen, filled = {}, {}
end

-- Many items at once, with one command for what all of them need. Where one of them is not simply new nothing is done here.
if calls > 1 and --$bulk then
  local began -- whether something was written
  local function together()
    local due, hashes, ids, records, times, out = false, {}, {}, {}, {}, {}
    local version, there, created = micros, false, false
    local k, a = 2, 1
    for i = 1, calls do
      local id, ttl, mode = ARGV[a + 1], ARGV[a + 3], ARGV[a + 4]
      if mode == '+' then due = true elseif mode ~= '' then return false end
      hashes[i], ids[i] = KEYS[k + 1], id
      records[2 * i - 1], records[2 * i] = id, ARGV[a + 2]
      if expires ~= index_records then
        if ttl == '' or ttl == '0' then return false end
        times[2 * i - 1], times[2 * i] = ending(ttl), id
      end
      k, a = k + --$keys, a + --$args
    end
    if call('EXISTS', unpack(hashes)) > 0 then return false end
    local other, begins = disagreement(index_records, ARGV[6], look('HGET', index_records, ''))
    if other then return false end
    local had = call('HMGET', index_records, unpack(ids))
    for i = 1, calls do
      if had[i] then return false end
    end
    if expires ~= index_records and vacant(expires) then due = true end
    k = 2
    for i = 1, calls do
      --$needs
      k = k + --$keys
    end
    due = --$keeps and (due or begins)
    began = true
    if begins then begin(index_records, ARGV[6]) end
    if call('HSET', index_records, unpack(records)) < calls then error('an id twice') end
    if due then renew(index_records) end
    if expires ~= index_records then
      call('ZADD', expires, unpack(times))
      if due then renew(expires) end
    end
    k, a = 2, 1
    for i = 1, calls do
      local hash, id, ttl = hashes[i], ids[i], ARGV[a + 3]
      --$fields
      if ttl ~= '' and ttl ~= '0' then call('PEXPIRE', hash, ttl) end
      --$indexes
      k, a = k + --$keys, a + --$args
    end
    a = 1
    for i = 1, calls do
      --$events
      out[i] = --$answer
      a = a + --$args
    end
    return out
  end
  local ok, out = pcall(together)
  if ok and out then return out end
  if began then
    for i = 0, calls - 1 do undo(2 + i * --$keys, 1 + i * --$args, 0) end
  end
end

local new -- whether the call at work is about to make an item

local function put(k, a, due, drops, condition, expected)
  local hash, id, record, ttl = KEYS[k + 1], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]
  local version, created, there
  if condition == 'absent' then
    if call('HLEN', hash) > 0 then return {'present', --$version or '0', now} end
  else
    --$look
    there = version or call('HLEN', hash) > 0
    version = version or '0'
    if condition ~= 'any' then
      if not there then return {'absent', '', now} end
      if condition ~= 'present' and condition ~= version then return {'version', version, now} end
    end
  end
  local said, had
  if there then
    said, had = unpack(look('HMGET', index_records, '', id))
  else
    said = look('HGET', index_records, '')
  end
  local other, begins = disagreement(index_records, ARGV[a + 5], said)
  if other then return {'indexes', other, now} end
  if expires ~= index_records and vacant(expires) then due = true end
  --$needs
  -- Only where a key is new all are renewed: that costs less than to renew each.
  due = --$keeps and (due or begins)

  local fresh = there and version ~= '0' and after(version) or micros

  -- The index record goes first: whatever fails below, it says where entries may be.
  if begins then begin(index_records, ARGV[a + 5]) end
  if not had and call('HSETNX', index_records, id, record) == 0 then had = call('HGET', index_records, id) end
  if had then
    if foreign(nil, had) then error({err = newer}, 0) end
    if had ~= (expected == '' and record or expected) then return {'record', had, now} end -- `false` if there should be none
    if had ~= record then call('HSET', index_records, id, record) end
  end
  new = not there
  if due then renew(index_records) end
  if ttl ~= '' and ttl ~= '0' then
    call('ZADD', expires, ending(ttl), id)
    if due then renew(expires) end
  elseif expires ~= index_records and not there then
    call('ZREM', expires, id) -- of one that had expired
  end
  version = fresh
  --$fields
  if ttl ~= '' and ttl ~= '0' then call('PEXPIRE', hash, ttl) end

  local last = k + --$keys
  for i = 1, drops do
    local key = KEYS[last + i]
    drop(key, id)
    seen[key], filled[key] = nil, nil -- it may be gone now
  end
  --$indexes
  if there then return {'ok', version, now} end
  --$events
  return --$answer
end

local out, k, a = {}, 2, 1
for i = 1, calls do
  local mode = ARGV[a + 4]
  local due, drops, condition, expected = mode == '+', 0, 'absent', false
  if #mode > 1 then
    due, drops, condition, expected = string.match(mode, '^(.)(%d+) (%S+) (.*)$')
    due, drops = due == '1', tonumber(drops)
  end
  new = false
  local ok, reply = pcall(put, k, a, due, drops, condition, expected)
  if not ok and new then undo(k, a, drops) end
  if ok then
    out[i] = reply
  elseif type(reply) == 'table' and reply.err then
    out[i] = {err = reply.err}
  else
    out[i] = {err = 'ERR ' .. tostring(reply)}
  end
  k = k + --$keys + drops
  a = a + --$args
end
return out
