-- cleanup_history: drop the stories that are older than the dedup window
-- KEYS: 1 history_stories
-- ARGV: 1 hours
-- Returns: how many were dropped
-- Round trips: 1
local oldest = tonumber(redis.call('TIME')[1]) - tonumber(ARGV[1]) * 3600
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%d', oldest), 'LIMIT', 0, 1000)
for _, story in ipairs(old) do
  redis.call('ZREM', KEYS[1], story)
end
return #old
