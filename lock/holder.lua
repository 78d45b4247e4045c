-- holder: says which process holds a lock.
-- KEYS[1] main
-- KEYS[2] fence
-- KEYS[3] waiters
-- KEYS[4] shared
-- ARGV: none
-- Returns: {token, ms left, fence, waiters, holders together, server time in µs}
-- Bound: O(log(holders together))
-- Round trips: 1
-- include: look
local millis, micros = clock()
return {
  read('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1]), string.format('%.0f', last_fence()),
  read('ZCARD', KEYS[3]), read('ZCOUNT', KEYS[4], '(' .. string.format('%.0f', millis), '+inf'),
  string.format('%.0f', micros),
}
