-- acquire: takes a lock, or a place in the queue of its waiters.
-- KEYS[1] main, KEYS[2] fence, KEYS[3] waiters, KEYS[4] shared
-- ARGV[1] token, ARGV[2] lease in ms, ARGV[3] "x" alone or "s" together with others,
-- ARGV[4] "try" once, "wait" in the queue, or "again": it may be in the queue already,
-- ARGV[5] "fair" or "fast", ARGV[6] channel, ARGV[7] claim in ms, ARGV[8] TTL of fence, waiters and shared in ms
-- Returns {1, fence, lease in ms, server time in µs} or {0, 0, ms until the holder's lease ends, server time in µs}
-- Round trips: 1. O(1), with "again" O(waiters).
local main, token, lease, kind = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

-- Somebody else's: a place in the queue, if I have none.
if kind == 'x' then
  local holder = redis.call('GET', main)
  if holder and holder ~= token then
    local ms = redis.call('PTTL', main)
    if ARGV[4] == 'try' then return {0, 0, ms, 0} end
    if ARGV[4] == 'wait' or not redis.call('LPOS', KEYS[3], 'x' .. token) then
      if redis.call('RPUSH', KEYS[3], 'x' .. token) == 1 then redis.call('PEXPIRE', KEYS[3], ARGV[8]) end
    end
    local t = redis.call('TIME')
    return {0, 0, ms, t[1] .. string.format('%06d', t[2])}
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
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', millis)
local queued = ARGV[4] == 'again' and redis.call('LPOS', KEYS[3], me)
if (ARGV[5] == 'fast' or redis.call('EXISTS', KEYS[3]) == 0) and free(kind) then
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
  if ARGV[4] == 'try' and redis.call('EXISTS', KEYS[3]) == 0 and free(kind) then
    return {1, give(kind, token, lease, micros, millis), lease, micros}
  end
end
return {0, 0, left(millis), micros}
