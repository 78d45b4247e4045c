-- put: puts a text, and gives the one before it
-- KEYS: 1 str
-- ARGV: 1 text
-- Returns: the text before, '' if there was none
-- Round trips: 1
local before = redis.call('GET', KEYS[1]) or ''
redis.call('SET', KEYS[1], ARGV[1], 'PX', 1800000)
return before
