-- leave: gives back a lock that is held alone and that nobody waits for; the common case of release.
-- KEYS[1] main, KEYS[2] waiters
-- ARGV[1] token
-- Returns 1, 0 if it was not held, or -1 if release is to be asked
-- Round trips: 1. O(1).
if redis.call('EXISTS', KEYS[2]) == 1 then return -1 end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
