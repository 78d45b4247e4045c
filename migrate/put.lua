-- migrate put: makes records what is given, if the epoch is the one given, the process is known, and no later ticket
-- was here.
-- KEYS[1] the migration, KEYS[2] its tickets, then the key of each record, at most 100
-- ARGV[1] part, ARGV[2] epoch, ARGV[3] process or '', ARGV[4] the name that it writes by,
-- ARGV[5] ticket or '', ARGV[6] "1" to keep the ticket, ARGV[7] a ticket that was given before, or 0,
-- then of each record: its digest, kind, field or member, "keep", "at" a time or "in" a time, that time in ms or 0,
-- how many values it has (0: it is not there), how many it must have now (-1: any), the values, and those that it
-- must have; at most 4,000 of all
-- Returns {'ok'|'lost'|'epoch'|'process'|'old'|'type'|'changed', the epoch that the part has, or '', the last ticket,
-- and of each record 'ok'|'same'|'stale'|'type'}; of a process 'type' and 'changed' are of all, and nothing is written
-- Round trips: 1. O(values).
local has = redis.call('HMGET', KEYS[1], 'epoch:' .. ARGV[1], 'process:' .. ARGV[3], 'ticket')
local epoch, last = has[1] or '', tonumber(has[3] or '0')
if epoch == '' or tonumber(epoch) < tonumber(ARGV[2]) or last < tonumber(ARGV[7]) then return {'lost', epoch} end
if tonumber(epoch) > tonumber(ARGV[2]) then return {'epoch', epoch} end
if ARGV[3] ~= '' and has[2] ~= ARGV[4] then return {'process', epoch} end
local t = redis.call('TIME')
local ticket = string.format('%.0f', ARGV[3] == '' and last or math.max(last + 1, t[1] * 1000000 + t[2]))
local old = t[1] * 1000000 + t[2] - 3600000000
local ended = {}
if ARGV[5] ~= '' then
  if tonumber(ARGV[5]) < old then return {'old', epoch} end
  ended = redis.call('ZRANGE', KEYS[2], '-inf', string.format('(%.0f', old), 'BYSCORE', 'LIMIT', 0, 4)
end

-- whether a record is as it is to be
local function equal(key, kind, sub, is, first, count)
  if count == 0 then
    if is == 'none' then return true end
    if kind == 'field' then return redis.call('HEXISTS', key, sub) == 0 end
    if kind == 'member' then return redis.call('SISMEMBER', key, sub) == 0 end
    if kind == 'scored' then return not redis.call('ZSCORE', key, sub) end
    return false
  end
  if is == 'none' then return false end
  if kind == 'string' then return redis.call('GET', key) == ARGV[first] end
  if kind == 'field' then return redis.call('HGET', key, sub) == ARGV[first] end
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
  if redis.call('LLEN', key) ~= count then return false end
  local now = redis.call('LRANGE', key, 0, -1)
  for i = 1, #now do
    if now[i] ~= ARGV[first + i - 1] then return false end
  end
  return true
end

local kinds = {string = 'string', field = 'hash', hash = 'hash', member = 'set', scored = 'zset', list = 'list'}
local words, todo, at = {}, {}, 8
for n = 3, #KEYS do
  local kind, sub, count, must = ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6])
  local is = redis.call('TYPE', KEYS[n]).ok
  local other = ARGV[5] ~= '' and redis.call('ZSCORE', KEYS[2], ARGV[at])
  if is ~= 'none' and is ~= kinds[kind] then
    if ARGV[3] ~= '' then return {'type', epoch} end
    words[n - 2] = 'type'
  elseif other and tonumber(other) >= tonumber(ARGV[5]) then
    words[n - 2] = 'stale'
  elseif must >= 0 and not equal(KEYS[n], kind, sub, is, at + 7 + count, must) then
    return {'changed', epoch}
  else
    local same = equal(KEYS[n], kind, sub, is, at + 7, count)
    words[n - 2] = same and 'same' or 'ok'
    local ends = is == 'none' and -2 or redis.call('PEXPIRETIME', KEYS[n])
    todo[#todo + 1] = {key = KEYS[n], at = at, kind = kind, sub = sub, count = count, same = same, ends = ends,
      n = n - 2}
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
      for i = first, first + r.count - 1, 2 do redis.call('HSET', key, ARGV[i], ARGV[i + 1]) end
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
  end
  if ARGV[6] == '1' then redis.call('ZADD', KEYS[2], ARGV[5], ARGV[r.at]) end
end
for i = 1, #ended do redis.call('ZREM', KEYS[2], ended[i]) end
if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'ticket', ticket) end
local out = {'ok', epoch, ticket}
for i = 1, #words do out[3 + i] = words[i] end
return out
