-- free: gives the lease back, if it is still the caller's.
-- KEYS[1] lease
-- ARGV[1] who
-- Returns 1 if it was given back, else 0
-- Round trips: 1. O(1).
local held = redis.call('GET', KEYS[1])
if held and string.match(held, '^%d+ (.*)$') == ARGV[1] then return redis.call('UNLINK', KEYS[1]) end
return 0
