-- holder: who holds a lock.
-- KEYS[1] main, KEYS[2] fence, KEYS[3] waiters, KEYS[4] shared
-- ARGV: none
-- Returns {token, ms left, fence, waiters, who hold it together, server time in µs}
-- Round trips: 1. O(log(holders together)).
local t = redis.call('TIME')
local millis = t[1] * 1000 + math.floor(t[2] / 1000)
return {
  redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]) or '0',
  redis.call('LLEN', KEYS[3]), redis.call('ZCOUNT', KEYS[4], '(' .. string.format('%.0f', millis), '+inf'),
  t[1] .. string.format('%06d', t[2]),
}
