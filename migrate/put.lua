-- migrate put: makes a record what is given, if the epoch is the one given, the process is known, and no later ticket was here.
-- KEYS[1] the migration, KEYS[2] its tickets, KEYS[3] the record's key
-- ARGV[1] part, ARGV[2] epoch, ARGV[3] process or '', ARGV[4] the name that it writes by,
-- ARGV[5] ticket or '', ARGV[6] the record's digest, ARGV[7] "1" to keep the ticket,
-- ARGV[8] kind, ARGV[9] field or member, ARGV[10] "keep", "at" a time or "in" a time, ARGV[11] that time in ms, or 0,
-- ARGV[12] "1" if the record is there, ARGV[13] a ticket that was given before, or 0, then what is stored
-- Returns {'ok'|'same'|'lost'|'epoch'|'process'|'old'|'stale'|'type', the epoch that the part has, or '', the last ticket}
-- Round trips: 1. O(values).
local key, kind, sub = KEYS[3], ARGV[8], ARGV[9]
local has = redis.call('HMGET', KEYS[1], 'epoch:' .. ARGV[1], 'process:' .. ARGV[3], 'ticket')
local epoch, last = has[1] or '', tonumber(has[3] or '0')
if epoch == '' or tonumber(epoch) < tonumber(ARGV[2]) or last < tonumber(ARGV[13]) then return {'lost', epoch} end
if tonumber(epoch) > tonumber(ARGV[2]) then return {'epoch', epoch} end
if ARGV[3] ~= '' and has[2] ~= ARGV[4] then return {'process', epoch} end
local t = redis.call('TIME')
local ticket = string.format('%.0f', ARGV[3] == '' and last or math.max(last + 1, t[1] * 1000000 + t[2]))
local old = t[1] * 1000000 + t[2] - 3600000000
local ended = {}
if ARGV[5] ~= '' then
  if tonumber(ARGV[5]) < old then return {'old', epoch} end
  local other = redis.call('ZSCORE', KEYS[2], ARGV[6])
  if other and tonumber(other) >= tonumber(ARGV[5]) then return {'stale', epoch} end
  ended = redis.call('ZRANGE', KEYS[2], '-inf', string.format('(%.0f', old), 'BYSCORE', 'LIMIT', 0, 4)
end
local kinds = {string = 'string', field = 'hash', hash = 'hash', member = 'set', scored = 'zset', list = 'list'}
local is = redis.call('TYPE', key).ok
if is ~= 'none' and is ~= kinds[kind] then return {'type', epoch} end
local values = {}
for i = 14, #ARGV do values[i - 13] = ARGV[i] end
local there = ARGV[12] == '1'
local ends = is == 'none' and -2 or redis.call('PEXPIRETIME', key)

-- whether it is so already
local same = false
if not there then
  if kind == 'field' then same = redis.call('HEXISTS', key, sub) == 0
  elseif kind == 'member' then same = redis.call('SISMEMBER', key, sub) == 0
  elseif kind == 'scored' then same = not redis.call('ZSCORE', key, sub)
  else same = is == 'none' end
elseif is ~= 'none' then
  if kind == 'string' then same = redis.call('GET', key) == values[1]
  elseif kind == 'field' then same = redis.call('HGET', key, sub) == values[1]
  elseif kind == 'member' then same = redis.call('SISMEMBER', key, sub) == 1
  elseif kind == 'scored' then
    local score = redis.call('ZSCORE', key, sub)
    same = score and tonumber(score) == tonumber(values[1])
  elseif kind == 'hash' then
    same = redis.call('HLEN', key) * 2 == #values
    for i = 1, #values, 2 do
      if not same then break end
      same = redis.call('HGET', key, values[i]) == values[i + 1]
    end
  else
    same = redis.call('LLEN', key) == #values
    local now = same and redis.call('LRANGE', key, 0, -1) or {}
    for i = 1, #now do same = same and now[i] == values[i] end
  end
end

-- from here on nothing fails
local result = 'same'
if not same and not there then
  result = 'ok'
  if kind == 'field' then redis.call('HDEL', key, sub)
  elseif kind == 'member' then redis.call('SREM', key, sub)
  elseif kind == 'scored' then redis.call('ZREM', key, sub)
  else redis.call('UNLINK', key) end
elseif not same then
  result = 'ok'
  if kind == 'string' then redis.call('SET', key, values[1], 'KEEPTTL')
  elseif kind == 'field' then redis.call('HSET', key, sub, values[1])
  elseif kind == 'member' then redis.call('SADD', key, sub)
  elseif kind == 'scored' then redis.call('ZADD', key, values[1], sub)
  elseif kind == 'hash' then
    redis.call('UNLINK', key)
    for i = 1, #values, 2 do redis.call('HSET', key, values[i], values[i + 1]) end
  else
    redis.call('UNLINK', key)
    for i = 1, #values do redis.call('RPUSH', key, values[i]) end
  end
  if (kind == 'hash' or kind == 'list') and ends > 0 then redis.call('PEXPIREAT', key, string.format('%.0f', ends)) end
end
if there and ARGV[10] == 'at' and tonumber(ARGV[11]) ~= ends then
  redis.call('PEXPIREAT', key, ARGV[11])
  result = 'ok'
elseif there and ARGV[10] == 'in' and (not same or ends == -1) then
  redis.call('PEXPIRE', key, ARGV[11])
  result = 'ok'
end
if ARGV[5] ~= '' then
  for i = 1, #ended do redis.call('ZREM', KEYS[2], ended[i]) end
  if ARGV[7] == '1' then redis.call('ZADD', KEYS[2], ARGV[5], ARGV[6]) end
end
if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'ticket', ticket) end
return {result, epoch, ticket}
