-- batch_add_seen: mark an item as seen and keep the newest ones
-- KEYS: 1 rss_seen
-- ARGV: 1 keep  2 item
-- Returns: 1 the item is new, 0 it had been seen
-- Round trips: 1
-- NX keeps the time an item was first seen, so that the oldest really go first.
local now = redis.call('TIME')[1]
local added = redis.call('ZADD', KEYS[1], 'NX', now, ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[1]))
return added
