-- begin: acknowledges a message that is done, and counts a delivery of the next one before its handler begins.
-- KEYS[1] stream
-- ARGV[1] group
-- ARGV[2] consumer
-- ARGV[3] id
-- ARGV[4] deliveries: of it from now on, and one
-- ARGV[5] done: the id that is done, or ''
-- Returns: 1, 0 if the message is not the consumer's any more
-- Bound: O(1)
-- Round trips: 1
local mine = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1, ARGV[2])[1]
if ARGV[5] ~= '' then redis.call('XACK', KEYS[1], ARGV[1], ARGV[5]) end
if not mine then
  return 0
end
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', ARGV[4], 'JUSTID')
return 1
