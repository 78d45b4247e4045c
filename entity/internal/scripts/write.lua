-- write: creates, replaces, updates or deletes items, each with all its index entries, or refuses and changes nothing.
-- Each call is one item; an error in one does not touch the others.
-- KEYS[1…] key: of a call the item's hash, the expiry zset (any key again if items never expire), the index records, then the
--   index keys and streams that its arguments name by number
-- ARGV[1] calls: how many
-- ARGV[2…] part: for each call
--   its arguments, its keys, the item's id
--   the index record it expects if there is one ('*' any), the one it leaves ('' deletes the item, '*' the same)
--   condition: 'absent', 'present', 'any', the version that the item must have, '@field=text' that it must have, or all
--     its texts (see `same`)
--   TTL in ms ('' leaves it, '0' none, '+' before it: only if less is left), TTL of the index keys in ms ('0' none)
--   what the server stamps: '1' if the first field is when it was created, the name of the next one if it is the version
--     ('' none), '1' if the next one is when it was updated, and the divisor of ms for the times; the texts given for
--     them do not count
--   what the writer knows of indexes as a whole, see `marks`
--   how many: texts of fields, fields to remove, index entries to add, to drop
--   field, text, …; field, …
--   to add: key number, score ('@field' that field of the hash; else a number), …
--   to drop: key number, …
--   events: for which case ('old': the item was there, 'new': it was not, 'dead': one that had expired makes room), 'p',
--     's' or 'x' (PUBLISH, SPUBLISH, XADD), channel or key number, longest stream ('' any), age of its oldest entry in ms
--     ('' any), 'e' or 'p' (envelope, plain), parts of the channel's name (0: the channel is given), parts of the
--     message, then per part: text, field ('' none, '#' the id), 'q' (quoted) or another
-- Returns: per call {code, text, server time in ms}: 'ok' or 'new' and the version, and after the time the record of an
--   item whose TTL began again; 'record' and the one found; 'indexes' and what is said of them as a whole; 'absent';
--   'present' or 'version' and the version found
-- Bound: O(calls × (fields + indexes + events)), 64 calls
-- Round trips: 1
-- include: time
local call, fmt = redis.call, string.format
local ms, stamped = clock()
local now, micros = fmt('%.0f', ms), fmt('%.0f', stamped)
local renewed = {}
local newest = '0' -- the highest version in this script, in which the time does not pass

local function renew(key, ttl)
  if ttl ~= '0' and renewed[key] ~= ttl then
    call('PEXPIRE', key, ttl)
    renewed[key] = ttl
  end
end

-- include: emit
-- include: marks
-- include: versions
-- include: same

-- higher is whether a version is above another.
local function higher(a, b) return #a > #b or #a == #b and a > b end

local new -- whether the call at work is about to make an item

-- undo takes back what an item that could not be made has left.
local function undo(k, a)
  local try, id = redis.pcall, ARGV[a + 2]
  try('UNLINK', KEYS[k + 1])
  try('HDEL', KEYS[k + 3], id)
  pcall(tidy, KEYS[k + 3])
  if KEYS[k + 2] ~= KEYS[k + 3] then try('ZREM', KEYS[k + 2], id) end
  local at = a + 17 + ARGV[a + 12] + ARGV[a + 13]
  for i = 1, ARGV[a + 14] + ARGV[a + 15] do
    try('ZREM', KEYS[k + ARGV[at]], id)
    at = at + (i <= tonumber(ARGV[a + 14]) and 2 or 1)
  end
  renewed = {}
end

local function write(k, a)
  local hash, expires, index_records, id = KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], ARGV[a + 2]
  local expected, record, condition, ttl, keep = ARGV[a + 3], ARGV[a + 4], ARGV[a + 5], ARGV[a + 6], ARGV[a + 7]
  local created, vfield, updated = ARGV[a + 8], ARGV[a + 9], ARGV[a + 10]
  local version = vfield ~= '' and call('HGET', hash, vfield)
  local there = version or call('HLEN', hash) > 0
  version = version or '0'
  if condition == 'absent' then
    if there then return {'present', version, now} end
  elseif condition ~= 'any' then
    if not there then return {'absent', '', now} end
    if string.byte(condition) == 64 then
      local field, text = string.match(condition, '^@([^=]*)=(.*)$')
      if call('HGET', hash, field) ~= text then return {'absent', '', now} end
    elseif string.byte(condition) == 61 then
      if not same(hash, condition) then return {'version', version, now} end
    elseif condition ~= 'present' and condition ~= version then
      return {'version', version, now}
    end
  end
  local said, had = unpack(look('HMGET', index_records, '', id))
  local other, begins, known = disagreement(index_records, ARGV[a + 16], said)
  if other then return {'indexes', other, now} end
  had = had or ''
  if had ~= '' and foreign(nil, had) then error({err = newer}, 0) end
  if expected == '*' and had ~= '' and not known then return {'record', had, now} end -- the update may concern an index that its writer does not know
  if had ~= '' and expected ~= '*' and had ~= expected then return {'record', had, now} end

  if string.byte(ttl) == 43 then
    ttl = string.sub(ttl, 2)
    if call('PTTL', hash) >= tonumber(ttl) then ttl = '' end
  end

  local pairs_ = a + 17
  local removed = pairs_ + ARGV[a + 12]
  local adds = removed + ARGV[a + 13]
  local drops = adds + 2 * ARGV[a + 14]
  local events = drops + ARGV[a + 15]
  local last = a + ARGV[a] - 1

  -- What a server may refuse it refuses here, before anything is written.
  if expires ~= index_records then needs(expires, 'zset') end
  for i = adds, drops - 1, 2 do needs(KEYS[k + ARGV[i]], 'zset') end
  for i = drops, events - 1 do kind(KEYS[k + ARGV[i]]) end
  ready(hash, id, k, events, last, there and 'old' or 'new', record == '' and 0 or pairs_, removed - 1)
  if not there and had ~= '' then ready(hash, id, k, events, last, 'dead', 0, 0) end

  if record == '' then
    -- First what frees memory: after it a full server takes the event, too.
    call('HDEL', index_records, id)
    local ok, err = pcall(emit, hash, id, k, events, last, 'old')
    if not ok then
      if had ~= '' then call('HSET', index_records, id, had) end
      error(err, 0)
    end
    for i = drops, events - 1 do drop(KEYS[k + ARGV[i]], id) end
    if expires ~= index_records then call('ZREM', expires, id) end
    renewed = {} -- a key that lost its last entry loses its TTL
    tidy(index_records)
    if higher(version, newest) and not string.find(version, '%D') then newest = version end
    call('UNLINK', hash)
    return {'ok', version, now}
  end

  local fresh = version
  if vfield ~= '' then
    if version ~= '0' then
      fresh = after(version)
    else
      fresh = higher(micros, newest) and micros or after(newest)
    end
  end

  -- The index record goes first: whatever fails below, it says where entries may be.
  if begins and record ~= '*' then begin(index_records, ARGV[a + 16]) end
  if record ~= '*' and record ~= had then
    call('HSET', index_records, id, record)
  end
  if not there and had ~= '' then
    local ok, err = pcall(emit, hash, id, k, events, last, 'dead')
    if not ok then
      call('HSET', index_records, id, had)
      error(err, 0)
    end
  end
  new = not there
  local ends
  if ttl ~= '' and ttl ~= '0' then
    ends = fmt('%.0f', ms + ttl)
    call('ZADD', expires, ends, id)
    renew(index_records, keep)
    renew(expires, keep)
  elseif expires ~= index_records and not there then
    call('ZREM', expires, id) -- of one that had expired
    renewed = {}
  end
  local at, stamp = pairs_, now
  if ARGV[a + 11] ~= '1' then stamp = fmt('%.0f', math.floor(ms / ARGV[a + 11])) end
  if created == '1' then
    ARGV[at + 1] = stamp
    at = at + 2
    if there then pairs_ = at end -- it keeps its own
  end
  if vfield ~= '' then
    version = fresh
    if higher(fresh, newest) then newest = fresh end
    ARGV[at + 1] = version
    at = at + 2
  end
  if updated == '1' then ARGV[at + 1] = stamp end
  if pairs_ < removed then call('HSET', hash, unpack(ARGV, pairs_, removed - 1)) end
  if removed < adds then call('HDEL', hash, unpack(ARGV, removed, adds - 1)) end
  -- By PEXPIRE: a server that was stopped since TIME would delete the hash at once by PEXPIREAT, before its events are written.
  if ends then call('PEXPIRE', hash, ttl) end

  for i = drops, events - 1 do
    local key = KEYS[k + ARGV[i]]
    drop(key, id)
    renewed[key] = nil
  end
  for i = adds, drops - 1, 2 do
    local key, score = KEYS[k + ARGV[i]], ARGV[i + 1]
    if string.byte(score) == 64 then score = call('HGET', hash, string.sub(score, 2)) end
    if score then
      call('ZADD', key, score, id)
    else
      call('ZREM', key, id)
      renewed[key] = nil
    end
    renew(key, keep)
  end
  emit(hash, id, k, events, last, there and 'old' or 'new')
  return {there and 'ok' or 'new', version, now, ends and (record == '*' and had or record)}
end

local out, a, k = {}, 2, 0
for i = 1, tonumber(ARGV[1]) do
  new = false
  local ok, reply = pcall(write, k, a)
  if not ok and new then undo(k, a) end
  if ok then
    out[i] = reply
  elseif type(reply) == 'table' and reply.err then
    out[i] = {err = reply.err}
  else
    out[i] = {err = 'ERR ' .. tostring(reply)}
  end
  k = k + ARGV[a + 1]
  a = a + ARGV[a]
end
return out
