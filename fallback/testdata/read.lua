-- read: a versioned hash with the TTL that is left, for tests.
-- KEYS[1] the hash
-- Returns {its fields, PTTL}
-- Round trips: 1. O(fields).
return { redis.call('HGETALL', KEYS[1]), redis.call('PTTL', KEYS[1]) }
