-- bump: the next number of a version, above every earlier one even if its key has expired
-- KEYS: 1 the version
-- ARGV: 1 TTL in ms, 0 for none
-- Returns: the number
-- Round trips: 1
local time = redis.call('TIME')
local next = math.max(tonumber(redis.call('GET', KEYS[1]) or 0) + 1, time[1] * 1000000 + time[2])
local text = string.format('%.0f', next)
if tonumber(ARGV[1]) > 0 then
  redis.call('SET', KEYS[1], text, 'PX', ARGV[1])
else
  redis.call('SET', KEYS[1], text)
end
return next
