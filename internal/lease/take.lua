-- take: takes a lease that is free, or makes the caller's own last as long again.
-- KEYS[1] lease
-- ARGV[1] owner
-- ARGV[2] ms: how long it lasts from now
-- Returns: {token, '', 0}, or {'', owner, ms left} where another has it
-- Bound: O(1)
-- Round trips: 1
-- include: lease
local token, owner, left = lease_take(KEYS[1], ARGV[1], ARGV[2])
return {token or '', owner or '', left or 0}
