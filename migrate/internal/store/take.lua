-- take: reads a record, and the epoch of its part in the same step.
-- KEYS[1] migration
-- KEYS[2] key: of the record
-- ARGV[1] part
-- ARGV[2] kind
-- ARGV[3] sub: field or member
-- ARGV[4] most: how many values are too many
-- ARGV[5] given: a ticket that was given before, or 0
-- Returns: {'ok'|'lost'|'type'|'large', epoch or '', when it ends in ms or -1, what is stored …}; nothing where the
--   record is missing
-- Bound: O(values), `most` values
-- Round trips: 1
local has = redis.call('HMGET', KEYS[1], 'epoch:' .. ARGV[1], 'ticket:' .. ARGV[1])
if not has[1] or tonumber(has[2] or '0') < tonumber(ARGV[5]) then return {'lost', has[1] or '', -1} end
local kinds = {string = 'string', field = 'hash', hash = 'hash', member = 'set', scored = 'zset', list = 'list',
  stream = 'stream'}
local is = redis.call('TYPE', KEYS[2]).ok
if is == 'none' then return {'ok', has[1], -1} end
if is ~= kinds[ARGV[2]] then return {'type', has[1], -1} end
local out = {'ok', has[1], redis.call('PEXPIRETIME', KEYS[2])}
local most = tonumber(ARGV[4])
local values = {}
if ARGV[2] == 'string' then
  values = {redis.call('GET', KEYS[2])}
elseif ARGV[2] == 'field' then
  values = {redis.call('HGET', KEYS[2], ARGV[3])}
elseif ARGV[2] == 'hash' then
  if redis.call('HLEN', KEYS[2]) * 2 > most then return {'large', has[1], -1} end
  values = redis.call('HGETALL', KEYS[2])
elseif ARGV[2] == 'member' then
  if redis.call('SISMEMBER', KEYS[2], ARGV[3]) == 1 then values = {'1'} end
elseif ARGV[2] == 'scored' then
  values = {redis.call('ZSCORE', KEYS[2], ARGV[3])}
elseif ARGV[2] == 'stream' then
  if redis.call('XLEN', KEYS[2]) > most then return {'large', has[1], -1} end
  for _, e in ipairs(redis.call('XRANGE', KEYS[2], '-', '+')) do
    values[#values + 1] = tostring(#e[2] / 2)
    for i = 1, #e[2] do values[#values + 1] = e[2][i] end
    if #values > most then return {'large', has[1], -1} end
  end
else
  if redis.call('LLEN', KEYS[2]) > most then return {'large', has[1], -1} end
  values = redis.call('LRANGE', KEYS[2], 0, -1)
end
if values[1] then
  for i = 1, #values do out[3 + i] = values[i] end
end
return out
