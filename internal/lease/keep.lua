-- keep: makes a lease last as long again, or gives it up, if the token is its still.
-- KEYS[1] lease
-- ARGV[1] token
-- ARGV[2] ms: that it is to last from now, '0' to give it up
-- Returns: 1, or 0 if it is not held any more
-- Bound: O(1)
-- Round trips: 1
-- include: lease
if not lease_held(KEYS[1], ARGV[1]) then return 0 end
if tonumber(ARGV[2]) > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) else redis.call('UNLINK', KEYS[1]) end
return 1
