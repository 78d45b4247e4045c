-- add: count within bounds, once per id if there is a key to remember ids in, with the declared TTL
-- KEYS: 1 the counter  2 the ids, by the ms at which they are forgotten; may be left out
-- ARGV: 1 TTL in ms, 0 for none  2 new: only a key without TTL gets one; renew: always
--       3 n  4 lowest and 5 highest sum, both empty for any  6 id  7 ms to remember it for
-- Returns: added, refused or repeated, and the number as it is now
-- Round trips: 1
local function answer(word)
  return {word, redis.call('GET', KEYS[1]) or '0'}
end
local now = 0
if KEYS[2] then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local known = redis.call('ZSCORE', KEYS[2], ARGV[6])
  if known and tonumber(known) > now then
    return answer('repeated')
  end
  -- each write forgets a few, so that no single one has all the work
  local old = redis.call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, 16)
  if #old > 0 then redis.call('ZREM', KEYS[2], unpack(old)) end
end
if ARGV[4] ~= '' then
  local have = tonumber(redis.call('GET', KEYS[1]) or 0)
  local sum = have + ARGV[3]
  if math.abs(have) > 2 ^ 53 or sum < tonumber(ARGV[4]) or sum > tonumber(ARGV[5]) then
    return answer('refused')
  end
end
redis.call('INCRBY', KEYS[1], ARGV[3])
if tonumber(ARGV[1]) > 0 and (ARGV[2] == 'renew' or redis.call('PTTL', KEYS[1]) == -1) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
if KEYS[2] then
  redis.call('ZADD', KEYS[2], now + ARGV[7], ARGV[6])
  redis.call('PEXPIRE', KEYS[2], ARGV[7])
end
return answer('added')
