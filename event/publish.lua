-- event publish: announces a message in its envelope, with the server's time.
-- KEYS: 1 the channel, if it is sharded (it finds the node); else none
-- ARGV: 1 channel 2 data (JSON) 3 further members of the envelope, each with a comma before it
-- Returns: how many have heard it
-- Round trips: one
local now = redis.call('TIME')
local at = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000))
local text = '{"timestamp":' .. at .. ',"data":' .. ARGV[2] .. ARGV[3] .. '}'
if #KEYS > 0 then
  return redis.call('SPUBLISH', KEYS[1], text)
end
return redis.call('PUBLISH', ARGV[1], text)
