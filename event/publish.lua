-- publish: announces a message in its envelope, with the server's time.
-- KEYS[1]? sharded: the channel, if it is sharded (it finds the node)
-- ARGV[1] channel
-- ARGV[2] data: JSON
-- ARGV[3] members: further members of the envelope, each with a comma before it
-- Returns: how many have heard it
-- Bound: O(subscribers)
-- Round trips: 1
-- include: time
local at = string.format('%.0f', (clock()))
local text = '{"timestamp":' .. at .. ',"data":' .. ARGV[2] .. ARGV[3] .. '}'
if #KEYS > 0 then
  return redis.call('SPUBLISH', KEYS[1], text)
end
return redis.call('PUBLISH', ARGV[1], text)
