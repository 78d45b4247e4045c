-- renew: makes the lease of a holder last anew.
-- KEYS[1] main, KEYS[2] fence, KEYS[3] waiters, KEYS[4] shared
-- ARGV[1] token, ARGV[2] lease in ms, ARGV[3] "x" alone or "s" together with others,
-- ARGV[8] TTL of fence, waiters and shared in ms
-- Returns {1, 0, lease in ms, 0}, or {0, 0, 0, 0} if it is not held any more
-- Round trips: 1. O(1).
--include hand.lua
local millis = millis_of(redis.call('TIME'))
if not mine(ARGV[3], ARGV[1], millis) then return {0, 0, 0, 0} end
renew(ARGV[3], ARGV[1], millis, ARGV[2])
return {1, 0, ARGV[2], 0}
