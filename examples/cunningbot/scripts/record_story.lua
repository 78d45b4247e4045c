-- record_story: a story was posted to a channel
-- KEYS: 1 history_stories  2 history_story
-- ARGV: 1 hash  2 hours  3 story
-- Returns: 1, or 0 if it was known
-- Round trips: 1
-- The first time counts. A story that two channels have lives as long as the longer window.
local now = redis.call('TIME')[1]
local window = tonumber(ARGV[2]) * 3600000
redis.call('ZCARD', KEYS[1])
local left = redis.call('PTTL', KEYS[2])
local added = redis.call('ZADD', KEYS[1], 'NX', now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], 604800000)
redis.call('SET', KEYS[2], ARGV[3], 'PX', math.max(left, window))
return added
