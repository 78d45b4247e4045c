-- gcra: the smallest GCRA, to compare with: it says yes or no and nothing else
-- KEYS: 1 the limit
-- ARGV: 1 us per one  2 us that may be ahead
-- Returns: 1 or 0
-- Round trips: 1
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local after = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + ARGV[1]
if after - now > tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
return 1
