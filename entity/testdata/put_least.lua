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
-- time: the server's clock.
-- Part.

-- clock returns the server's time in ms and in µs. Both are exact as Lua numbers; `%.0f` writes them.
local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000), t[1] * 1000000 + t[2]
end
local call, KEYS, ARGV = redis.call, KEYS, ARGV
local expires, index_records, calls = KEYS[1], KEYS[2], tonumber(ARGV[1])
local _, time = clock()
local micros = string.format('%.0f', time)
local now = string.sub(micros, 1, -4)
local stamp = now 
local ends, seen = {}, {}

-- renew gives a key its TTL, once.
local function renew(key)
  if not seen[key] then
    call('PEXPIRE', key, '0')
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

-- keys: looks at the types of keys before anything is written.
-- Part.
-- look: how a script looks at a key for the first time: an error says which key it is about.
-- Part.

-- refuse ends the script with what the server has said of a key. One that is elsewhere while its slot moves is one to
-- try again for.
local function refuse(said, key)
  local name = string.gsub(key, '%c', ' ')
  if string.find(said, 'WRONGTYPE', 1, true) then
    error({err = 'WRONGTYPE the key ' .. name .. ' is of another type than an entity keeps there'}, 0)
  end
  if string.find(said, 'non local key', 1, true) then
    error({err = 'TRYAGAIN the key ' .. name .. ' is elsewhere while its slot moves'}, 0)
  end
  error({err = said}, 0)
end

-- look reads a key.
local function look(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) == 'table' and reply.err then refuse(reply.err, key) end
  return reply
end
local types = {} -- of keys that were looked at

-- kind is the type of a key.
local function kind(key)
  local is = types[key] or redis.call('TYPE', key).ok
  if is ~= 'none' then types[key] = is end
  return is
end

-- needs refuses a key of another type, before anything is written.
local function needs(key, want)
  local is = kind(key)
  if is ~= want and is ~= 'none' then
    refuse('WRONGTYPE', key)
  end
end

-- drop takes ids out of an index. In a key of another type there is no entry.
local function drop(key, ...)
  if kind(key) == 'zset' then redis.call('ZREM', key, ...) end
end

local filled = {} -- indexes that were looked at and have entries

-- vacant is whether an index has no entry. One of another type is refused, before anything is written.
local function vacant(key)
  if filled[key] then return false end
  local n = look('ZCARD', key)
  if n > 0 then filled[key], types[key] = true, 'zset' end
  return n == 0
end

-- marks: the marks of the indexes.
-- It is at the id that no item has, '': 16 characters that are others after every change, and per index a line:
--   '+' (all items are in it), '-' (some may be missing) or '~' and the 8 characters of a builder (it builds it, and
--   nothing was missed since), and its tag, as records have it.
-- The first of the 16 characters is a digit or a capital letter. Where it is another one, a program of a newer form keeps
-- these index records.
-- Part.

local newer = 'FORM a newer version of this program has written this index record, or the marks of the indexes'

-- foreign is whether the marks, or an index record, are of another form.
local function foreign(said, entry)
  return said and (#said < 16 or not string.find(said, '^[0-9A-Z]')) or entry and string.byte(entry) ~= 61
end

-- disagreement is what is said there, if a writer has not agreed to it: it has agreed to those 16 characters, or knows the
-- lines, in which all is complete.
-- begins is whether nothing is said there yet, as there is no item; known is whether the writer knows all lines, and all is complete.
local function disagreement(index_records, agreed, said)
  if not said then
    if redis.call('EXISTS', index_records) == 1 then return '' end
    return nil, true, true
  end
  if foreign(said) then error({err = newer}, 0) end
  if string.sub(said, 17) == string.sub(agreed, 17) then return nil, false, true end
  if string.sub(said, 1, 16) == string.sub(agreed, 1, 16) then return nil, false, false end
  return said
end

-- begin writes that all indexes are complete, before there is an item.
local function begin(index_records, agreed)
  local _, micros = clock()
  redis.call('HSET', index_records, '', string.sub(string.format('%.0f', micros), -16) .. string.sub(agreed, 17))
end

-- tidy takes it away after the last item.
local function tidy(index_records)
  if redis.call('HLEN', index_records) == 1 then redis.call('HDEL', index_records, '') end
end
-- versions: counts versions on as texts: a Lua number holds no more than 2^53 of them.
-- Part.

-- after is the next version. It refuses what is none, before anything is written.
local function after(version)
  if not string.find(version, '^%d+$') or #version > 19 or #version == 19 and version >= '9223372036854775807' then
    error({err = 'ERR the version of this item is no number, or the last one'}, 0)
  end
  local head, tail = string.sub(version, 1, -10), string.sub(version, -9)
  if tail ~= '999999999' or head == '' then
    if head == '' then return string.format('%.0f', tail + 1) end
    return head .. string.format('%09d', tail + 1)
  end
  return after(head) .. '000000000'
end

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
  for i = 2, 3 do
    try('ZREM', KEYS[k + i], id) -- of another type it is refused
  end
  for i = 1, drops do try('ZREM', KEYS[k + 3 + i], id) end
  seen, filled = {}, {}
end

-- Many items at once, with one command for what all of them need. Where one of them is not simply new nothing is done here.
if calls > 1 and true then
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
      k, a = k + 3, a + 13
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
      if KEYS[k + 2] ~= index_records and vacant(KEYS[k + 2]) then due = true end
  if KEYS[k + 3] ~= index_records and vacant(KEYS[k + 3]) then due = true end
  
      k = k + 3
    end
    due = false and (due or begins)
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
      call('HSET', hash, 'kind', ARGV[a + 6], 'context', ARGV[a + 7], 'priority', ARGV[a + 8], 'text', ARGV[a + 9], 'created', ARGV[a + 11], 'updated', ARGV[a + 12], 'version', ARGV[a + 13])
  if ARGV[a + 10] ~= '' then call('HSET', hash, 'due', string.sub(ARGV[a + 10], 2)) elseif there then call('HDEL', hash, 'due') end
      if ttl ~= '' and ttl ~= '0' then call('PEXPIRE', hash, ttl) end
      local key
  key = KEYS[k + 2]
  call('ZADD', key, 0, id)
  if due then renew(key) end
  key = KEYS[k + 3]
  call('ZADD', key, 0, id)
  if due then renew(key) end
      k, a = k + 3, a + 13
    end
    a = 1
    for i = 1, calls do
      
      out[i] = now
      a = a + 13
    end
    return out
  end
  local ok, out = pcall(together)
  if ok and out then return out end
  if began then
    for i = 0, calls - 1 do undo(2 + i * 3, 1 + i * 13, 0) end
  end
end

local new -- whether the call at work is about to make an item

local function put(k, a, due, drops, condition, expected)
  local hash, id, record, ttl = KEYS[k + 1], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3]
  local version, created, there
  if condition == 'absent' then
    if call('HLEN', hash) > 0 then return {'present', false or '0', now} end
  else
    -- only whether it is there
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
  if KEYS[k + 2] ~= index_records and vacant(KEYS[k + 2]) then due = true end
  if KEYS[k + 3] ~= index_records and vacant(KEYS[k + 3]) then due = true end
  
  -- Only where a key is new all are renewed: that costs less than to renew each.
  due = false and (due or begins)

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
  call('HSET', hash, 'kind', ARGV[a + 6], 'context', ARGV[a + 7], 'priority', ARGV[a + 8], 'text', ARGV[a + 9], 'created', ARGV[a + 11], 'updated', ARGV[a + 12], 'version', ARGV[a + 13])
  if ARGV[a + 10] ~= '' then call('HSET', hash, 'due', string.sub(ARGV[a + 10], 2)) elseif there then call('HDEL', hash, 'due') end
  if ttl ~= '' and ttl ~= '0' then call('PEXPIRE', hash, ttl) end

  local last = k + 3
  for i = 1, drops do
    local key = KEYS[last + i]
    drop(key, id)
    seen[key], filled[key] = nil, nil -- it may be gone now
  end
  local key
  key = KEYS[k + 2]
  call('ZADD', key, 0, id)
  if due then renew(key) end
  key = KEYS[k + 3]
  call('ZADD', key, 0, id)
  if due then renew(key) end
  if there then return {'ok', version, now} end
  
  return now
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
  k = k + 3 + drops
  a = a + 13
end
return out
