-- take: takes a lease that is free, or makes the caller's own last as long again
-- KEYS[1] lease
-- ARGV[1] owner, ARGV[2] lease in ms
-- Returns {token, '', 0}, or {'', owner, ms left} where another has it
-- Round trips: 1. O(1).
local token, owner, left = lease_take(KEYS[1], ARGV[1], ARGV[2])
return {token or '', owner or '', left or 0}
