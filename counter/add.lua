-- add: counts within bounds, once per id if there is a key to remember ids in, with the declared TTL.
-- KEYS[1] counter
-- KEYS[2]? ids: by the ms at which they are forgotten
-- ARGV[1] ttl: in ms, 0 for none
-- ARGV[2] mode: new: only a key without TTL gets one; longer: also one with less; renew: always
-- ARGV[3] by
-- ARGV[4] lowest: sum, empty for any
-- ARGV[5] highest: sum, empty for any
-- ARGV[6]? id
-- ARGV[7]? memory: ms to remember it for
-- Returns: {added, refused or repeated, the number as it is now}
-- Bound: O(log N), and 16 ids that are forgotten
-- Round trips: 1
-- include: time
local have, left = redis.pcall('GET', KEYS[1]), redis.call('PTTL', KEYS[1])
if type(have) == 'table' then
  return {err = have.err .. ' (key ' .. KEYS[1] .. ')'}
end
have = have or '0'
local now, old, kept = 0, {}, 0
if KEYS[2] then
  now = clock()
  local known = redis.pcall('ZSCORE', KEYS[2], id)
  if type(known) == 'table' then
    return {err = known.err .. ' (key ' .. KEYS[2] .. ')'}
  elseif known and tonumber(known) > now then
    return {'repeated', have}
  end
  kept = redis.call('PTTL', KEYS[2]) -- by a program that remembers for longer
  -- each write forgets a few, so that no single one has all the work
  old = redis.call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, 16)
end

-- halves are a number of 64 bits in two that a Lua number holds: it is high * 10^10 + low,
-- and low is from 0 to 10^10 - 1, so that numbers compare half by half
local function halves(text)
  local sign, digits = string.match(text, '^(%-?)(%d+)$')
  if not digits or #digits > 19 then
    return nil
  end
  local high, low = tonumber(string.sub(digits, 1, -11)) or 0, tonumber(string.sub(digits, -10))
  if sign == '-' then
    high, low = -high, -low
  end
  local carry = math.floor(low / 1e10)
  return high + carry, low - carry * 1e10
end
if lowest ~= '' then
  local high, low = halves(have)
  if not high then
    return redis.error_reply('ERR the counter holds no whole number of 64 bits (key ' .. KEYS[1] .. ')')
  end
  local byHigh, byLow = halves(by)
  local carry = math.floor((low + byLow) / 1e10)
  high, low = high + byHigh + carry, low + byLow - carry * 1e10
  local lowestHigh, lowestLow = halves(lowest)
  local highestHigh, highestLow = halves(highest)
  if high < lowestHigh or high == lowestHigh and low < lowestLow then
    return {'refused', have}
  elseif high > highestHigh or high == highestHigh and low > highestLow then
    return {'refused', have}
  end
end

-- the first write: a number that cannot be counted, or would leave 64 bits, ends it here
local done = redis.pcall('INCRBY', KEYS[1], by)
if type(done) == 'table' then
  return {err = done.err .. ' (key ' .. KEYS[1] .. ')'}
end
if tonumber(ttl) > 0 and (left < 0 or mode == 'renew' or mode == 'longer' and left < tonumber(ttl)) then
  redis.call('PEXPIRE', KEYS[1], ttl)
end
if KEYS[2] then
  redis.call('ZADD', KEYS[2], now + memory, id)
  redis.call('PEXPIRE', KEYS[2], math.max(kept, tonumber(memory)))
  if #old > 0 then redis.call('ZREM', KEYS[2], unpack(old)) end
end
-- as the server says it: a Lua number is exact up to 2^53
return {'added', redis.call('GET', KEYS[1])}
