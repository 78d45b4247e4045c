-- pulse: gives a sign of life for messages in hand, so that no other consumer claims them.
-- KEYS[1] stream
-- ARGV[1] group
-- ARGV[2] consumer
-- ARGV[3…] id
-- Returns: the numbers of those that are not its own any more, counted from 1
-- Bound: O(ids), 100 ids
-- Round trips: 1
local lost = {}
for i = 3, #ARGV do
  if redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1, ARGV[2])[1] then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')
  else
    lost[#lost + 1] = i - 2
  end
end
return lost
