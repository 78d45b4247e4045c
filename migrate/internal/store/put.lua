-- put: makes records what is given, if the epoch is the one given, the process is known, and no later ticket was here.
-- KEYS[1] migration
-- KEYS[2] tickets
-- KEYS[3…] key: of a record
-- ARGV[1] part
-- ARGV[2] expected: the epoch
-- ARGV[3] process: or ''
-- ARGV[4] name: that the process writes by
-- ARGV[5] stamp: a ticket, or ''
-- ARGV[6] keeps: "1" to keep the ticket
-- ARGV[7] given: a ticket that was given before, or 0
-- ARGV[8…] record: of each record: its digest, kind, field or member, "keep", "none", "at" a time or "in" a time, that time
--   in ms or 0, how many values it has (0: it is not there), how many it must have now (-1: any), the values, and those
--   that it must have
-- Returns: {'ok'|'lost'|'epoch'|'process'|'old'|'type'|'changed'|'large', the epoch that the part has, or '', the last
--   ticket, and of each record 'ok'|'same'|'stale'|'type'}; of a process 'type' and 'changed' are of all, and nothing
--   is written
-- Bound: O(values): 100 records, 4,000 values of all that are written, and for each record as many that it must have
-- Round trips: 1
-- include: time
-- include: fence
local has = redis.call('HMGET', KEYS[1], 'epoch:' .. part, 'process:' .. process, 'ticket:' .. part)
local epoch, last = has[1] or '', tonumber(has[3] or '0')
if epoch == '' or tonumber(epoch) < tonumber(expected) or last < tonumber(given) then return {'lost', epoch} end
if tonumber(epoch) > tonumber(expected) then return {'epoch', epoch} end
if process ~= '' and has[2] ~= name then return {'process', epoch} end
local _, micros = clock()
local ticket = string.format('%.0f', process == '' and last or fence_after(last, micros))
local old = micros - 3600000000
local ended = {}
if stamp ~= '' then
  if tonumber(stamp) < old then return {'old', epoch} end
  ended = redis.call('ZRANGE', KEYS[2], '-inf', string.format('(%.0f', old), 'BYSCORE', 'LIMIT', 0,
    2 * (#KEYS - 2))
end

-- how many entries of a stream are as they are to be, from the first one on; all that there are, and where the
-- values of the next one are
local function alike(key, first, count)
  local now, n, at = redis.call('XRANGE', key, '-', '+'), 0, first
  while n < #now and at < first + count do
    local fields, want = now[n + 1][2], tonumber(ARGV[at])
    local has = {}
    for i = 1, #fields, 2 do has[fields[i]] = fields[i + 1] end
    local same = #fields == 2 * want
    for i = at + 1, at + 2 * want, 2 do same = same and has[ARGV[i]] == ARGV[i + 1] end
    if not same then break end
    n, at = n + 1, at + 1 + 2 * want
  end
  return n, now, at
end

-- What is asked of a key is asked once for all of its records: nothing is written before all is read.
local types, ends, fields, values = {}, {}, {}, {}
local function once(of, command, key)
  if of[key] == nil then of[key] = redis.call(command, key) end
  return of[key]
end
local function field(key, sub)
  if not values[key] then
    values[key] = {}
    local all = redis.call('HMGET', key, unpack(fields[key])) -- at most 100
    for i, v in ipairs(all) do values[key][fields[key][i]] = v end
  end
  return values[key][sub]
end

-- whether a record is as it is to be
local function equal(key, kind, sub, is, first, count)
  if count == 0 then
    if is == 'none' then return true end
    if kind == 'field' then return not field(key, sub) end
    if kind == 'member' then return redis.call('SISMEMBER', key, sub) == 0 end
    if kind == 'scored' then return not redis.call('ZSCORE', key, sub) end
    return false
  end
  if is == 'none' then return false end
  if kind == 'string' then return redis.call('GET', key) == ARGV[first] end
  if kind == 'field' then return field(key, sub) == ARGV[first] end
  if kind == 'member' then return redis.call('SISMEMBER', key, sub) == 1 end
  if kind == 'scored' then
    local score = redis.call('ZSCORE', key, sub)
    return score and tonumber(score) == tonumber(ARGV[first])
  end
  if kind == 'hash' then
    if redis.call('HLEN', key) * 2 ~= count then return false end
    for i = first, first + count - 1, 2 do
      if redis.call('HGET', key, ARGV[i]) ~= ARGV[i + 1] then return false end
    end
    return true
  end
  if kind == 'stream' then
    local n, now, at = alike(key, first, count)
    return n == #now and at == first + count
  end
  if redis.call('LLEN', key) ~= count then return false end
  local now = redis.call('LRANGE', key, 0, -1)
  for i = 1, #now do
    if now[i] ~= ARGV[first + i - 1] then return false end
  end
  return true
end

-- Where no key is there, as in most of an import, each record need not be asked about.
local none = #KEYS > 2 and redis.call('EXISTS', unpack(KEYS, 3)) == 0
local digests, first = {}, 8
for n = 3, #KEYS do
  digests[n - 2] = ARGV[first]
  local kind = ARGV[first + 1]
  if kind == 'field' then
    local of = fields[KEYS[n]] or {}
    fields[KEYS[n]], of[#of + 1] = of, ARGV[first + 2]
  end
  first = first + 7 + tonumber(ARGV[first + 5]) + math.max(tonumber(ARGV[first + 6]), 0)
end
local others = stamp ~= '' and #KEYS > 2 and redis.call('ZMSCORE', KEYS[2], unpack(digests)) or {} -- at most 100

local kinds = {string = 'string', field = 'hash', hash = 'hash', member = 'set', scored = 'zset', list = 'list',
  stream = 'stream'}
local words, todo, at = {}, {}, 8
for n = 3, #KEYS do
  local kind, sub, count, must = ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6])
  local is = none and 'none' or once(types, 'TYPE', KEYS[n]).ok
  local other = others[n - 2]
  if is ~= 'none' and is ~= kinds[kind] then
    if process ~= '' then return {'type', epoch} end
    words[n - 2] = 'type'
  elseif kind == 'stream' and is ~= 'none' and redis.call('XLEN', KEYS[n]) > 4000 then
    return {'large', epoch}
  elseif other and tonumber(other) >= tonumber(stamp) then
    words[n - 2] = 'stale'
  elseif must >= 0 and not equal(KEYS[n], kind, sub, is, at + 7 + count, must) then
    return {'changed', epoch}
  else
    local same = equal(KEYS[n], kind, sub, is, at + 7, count)
    words[n - 2] = same and 'same' or 'ok'
    todo[#todo + 1] = {key = KEYS[n], at = at, kind = kind, sub = sub, count = count, same = same,
      ends = is == 'none' and -2 or once(ends, 'PEXPIRETIME', KEYS[n]), n = n - 2}
  end
  at = at + 7 + count + math.max(must, 0)
end

-- from here on nothing fails
for _, r in ipairs(todo) do
  local key, kind, sub, first = r.key, r.kind, r.sub, r.at + 7
  if not r.same and r.count == 0 then
    if kind == 'field' then redis.call('HDEL', key, sub)
    elseif kind == 'member' then redis.call('SREM', key, sub)
    elseif kind == 'scored' then redis.call('ZREM', key, sub)
    else redis.call('UNLINK', key) end
  elseif not r.same then
    if kind == 'string' then redis.call('SET', key, ARGV[first], 'KEEPTTL')
    elseif kind == 'field' then redis.call('HSET', key, sub, ARGV[first])
    elseif kind == 'member' then redis.call('SADD', key, sub)
    elseif kind == 'scored' then redis.call('ZADD', key, ARGV[first], sub)
    elseif kind == 'hash' then
      redis.call('UNLINK', key)
      redis.call('HSET', key, unpack(ARGV, first, first + r.count - 1)) -- at most 4,000
    elseif kind == 'stream' then
      -- Entries that are as they should be keep their ids, and the groups of the stream stay.
      local n, now, at = alike(key, first, r.count)
      for i = n + 1, #now do redis.call('XDEL', key, now[i][1]) end
      while at < first + r.count do
        local last = at + 2 * tonumber(ARGV[at])
        redis.call('XADD', key, '*', unpack(ARGV, at + 1, last))
        at = last + 1
      end
    else
      redis.call('UNLINK', key)
      for i = first, first + r.count - 1 do redis.call('RPUSH', key, ARGV[i]) end
    end
    if (kind == 'hash' or kind == 'list') and r.ends > 0 then
      redis.call('PEXPIREAT', key, string.format('%.0f', r.ends))
    end
  end
  local mode, ms = ARGV[r.at + 3], ARGV[r.at + 4]
  if r.count > 0 and mode == 'at' and tonumber(ms) ~= r.ends then
    redis.call('PEXPIREAT', key, ms)
    words[r.n] = 'ok'
  elseif r.count > 0 and mode == 'in' and (not r.same or r.ends == -1) then
    redis.call('PEXPIRE', key, ms)
    words[r.n] = 'ok'
  elseif r.count > 0 and mode == 'none' and r.ends > 0 then
    redis.call('PERSIST', key)
    words[r.n] = 'ok'
  end
  if keeps == '1' then redis.call('ZADD', KEYS[2], stamp, ARGV[r.at]) end
end
if #ended > 0 then redis.call('ZREM', KEYS[2], unpack(ended)) end -- at most 200
if keeps == '1' then redis.call('PEXPIRE', KEYS[2], 7200000) end
if process ~= '' then redis.call('HSET', KEYS[1], 'ticket:' .. part, ticket) end
local out = {'ok', epoch, ticket}
for i = 1, #words do out[3 + i] = words[i] end
return out
