-- giveback: gives messages back that a consumer does not handle any more; others may claim them at once.
-- KEYS[1] stream
-- ARGV[1] group
-- ARGV[2] consumer
-- ARGV[3] idle: ms after which others claim
-- ARGV[4…] id, deliveries: its deliveries and one
-- Returns: how many were its own
-- Bound: O(ids), 100 ids
-- Round trips: 1
local mine = {}
for i = 4, #ARGV, 2 do
  mine[i] = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1, ARGV[2])[1] ~= nil
end
local n = 0
for i = 4, #ARGV, 2 do
  if mine[i] then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'IDLE', ARGV[3], 'RETRYCOUNT', ARGV[i + 1], 'JUSTID')
    n = n + 1
  end
end
return n
