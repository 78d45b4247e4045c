-- read: gives a versioned hash with the TTL that is left, for tests.
-- KEYS[1] hash
-- ARGV: none
-- Returns: {its fields, PTTL}
-- Bound: O(fields)
-- Round trips: 1
return { redis.call('HGETALL', KEYS[1]), redis.call('PTTL', KEYS[1]) }
