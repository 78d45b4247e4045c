-- giveback: gives messages back that a consumer does not handle any more; others may claim them at once.
-- KEYS[1] stream
-- ARGV[1] group
-- ARGV[2] consumer
-- ARGV[3] idle: ms after which others claim
-- ARGV[4] to: the consumer that has them until then
-- ARGV[5…] id, deliveries: its deliveries and one
-- Returns: how many were its own
-- Bound: O(ids), 100 ids
-- Round trips: 1
-- include: buried
local mine = {}
for i = 5, #ARGV, 2 do
  mine[i] = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1, ARGV[2])[1]
end
local n = 0
for i = 5, #ARGV, 2 do
  if mine[i] then
    local count = mine[i][4] < buried and ARGV[i + 1] or mine[i][4]
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[4], 0, ARGV[i], 'IDLE', ARGV[3], 'RETRYCOUNT', count, 'JUSTID')
    n = n + 1
  end
end
return n
