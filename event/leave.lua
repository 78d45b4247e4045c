-- leave: removes consumers, unless messages are pending for them, which would go with them.
-- KEYS[1] stream
-- ARGV[1] group
-- ARGV[2…] consumer
-- Returns: how many consumers it looked at
-- Bound: O(names), 100 names
-- Round trips: 1
local empty = {}
for i = 2, #ARGV do
  empty[i] = #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[i]) == 0
end
for i = 2, #ARGV do
  if empty[i] then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[i]) end
end
return #ARGV - 1
