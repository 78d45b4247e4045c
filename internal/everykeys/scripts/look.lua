-- look: gives the length of a text
-- KEYS: 1 str
-- Returns: its bytes
-- Round trips: 1
return redis.call('STRLEN', KEYS[1])
