-- acquire: takes a lock, or a place in the queue of its waiters.
-- KEYS[1] main, KEYS[2] fence, KEYS[3] waiters, KEYS[4] shared
-- ARGV[1] token, ARGV[2] lease in ms, ARGV[3] "x" alone or "s" together with others,
-- ARGV[4] "try" once, "wait" in the queue, or "again": it may be in the queue already,
-- ARGV[5] "fair" or "fast", ARGV[6] channel, ARGV[7] claim in ms, ARGV[8] TTL of fence, waiters and shared in ms
-- Returns {1, fence, lease in ms, server time in µs} or {0, 0, ms until the holder's lease ends, server time in µs}
-- Round trips: 1. O(1), with "again" O(waiters).
local main, token, lease, kind = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

-- The common case first: nobody holds it, nobody waits.
if kind == 'x' and redis.call('EXISTS', KEYS[3], KEYS[4]) == 0 then
  local holder = redis.call('SET', main, token, 'NX', 'GET', 'PX', lease)
  if not holder then
    local t = redis.call('TIME')
    local now = t[1] .. string.format('%06d', t[2])
    local last = redis.call('SET', KEYS[2], now, 'PX', ARGV[8], 'GET')
    if last and tonumber(last) >= tonumber(now) then
      last = string.format('%.0f', tonumber(last) + 1)
      redis.call('SET', KEYS[2], last, 'PX', ARGV[8])
      return {1, last, lease, now}
    end
    return {1, now, lease, now}
  end
  if holder ~= token and ARGV[4] == 'wait' then
    redis.call('RPUSH', KEYS[3], 'x' .. token)
    redis.call('PEXPIRE', KEYS[3], ARGV[8])
    local t = redis.call('TIME')
    return {0, 0, redis.call('PTTL', main), t[1] .. string.format('%06d', t[2])}
  end
end
--include hand.lua
local asked = redis.call('TIME')
local micros, millis = micros_of(asked), millis_of(asked)
local me = kind .. token

-- Held by me already: a reply was lost, or a release has handed it to me.
if mine(kind, token, millis) then
  renew(kind, token, millis, lease)
  return {1, redis.call('GET', KEYS[2]) or '0', lease, micros}
end
-- Somebody else's, and my place is there: nothing to do.
if ARGV[4] == 'again' and kind == 'x' then
  local ms = redis.call('PTTL', main)
  if ms > 0 and redis.call('LPOS', KEYS[3], me) then return {0, 0, ms, micros} end
end
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', millis)
local queued = ARGV[4] == 'again' and redis.call('LPOS', KEYS[3], me)
if ARGV[5] == 'fast' and free(kind) then
  if queued then redis.call('LREM', KEYS[3], 1, me) end
  return {1, give(kind, token, lease, micros, millis), lease, micros}
end
if ARGV[4] ~= 'try' and not queued then
  redis.call('RPUSH', KEYS[3], me)
  redis.call('PEXPIRE', KEYS[3], ARGV[8])
end
if ARGV[5] == 'fair' then
  local fence = serve(ARGV[6], ARGV[7], micros, millis, me, lease)
  if fence then return {1, fence, lease, micros} end
  if ARGV[4] == 'try' and redis.call('LLEN', KEYS[3]) == 0 and free(kind) then
    return {1, give(kind, token, lease, micros, millis), lease, micros}
  end
end
return {0, 0, left(millis), micros}
