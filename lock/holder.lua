-- holder: who holds a lock.
-- KEYS[1] main, KEYS[2] fence, KEYS[3] waiters, KEYS[4] shared
-- ARGV: none
-- Returns {token, ms left, fence, waiters, who hold it together, server time in µs}
-- Round trips: 1. O(log(holders together)).
--include hand.lua
local micros, millis = clock()
return {
  read('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1]), last_fence(read('GET', KEYS[2])) or '0',
  read('ZCARD', KEYS[3]), read('ZCOUNT', KEYS[4], '(' .. string.format('%.0f', millis), '+inf'),
  micros,
}
