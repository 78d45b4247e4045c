-- event leave: removes consumers, unless messages are pending for them, which would go with them.
-- KEYS[1] stream
-- ARGV[1] group, then names of consumers, at most 100
-- Returns how many consumers it looked at
-- Round trips: 1. O(names).
local empty = {}
for i = 2, #ARGV do
  empty[i] = #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[i]) == 0
end
for i = 2, #ARGV do
  if empty[i] then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[i]) end
end
return #ARGV - 1
