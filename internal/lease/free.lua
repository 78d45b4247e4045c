-- free: gives a lease back, if it is the owner's still.
-- KEYS[1] lease
-- ARGV[1] owner
-- Returns: 1 if it was given back, else 0
-- Bound: O(1)
-- Round trips: 1
-- include: lease
local fence, owner = lease_at(KEYS[1])
if fence and owner == ARGV[1] then return redis.call('UNLINK', KEYS[1]) end
return 0
