-- trivia_finish: the result of a game, its place in the history and its end
-- KEYS: 1 trivia_game  2 trivia_active  3 trivia_submissions  4 trivia_history  5 trivia_result
-- ARGV: 1 id  2 ended_at  3 result
-- Returns: 1, or 0 if it was done already
-- Round trips: 1
-- Results live for 7 days, the history for 30 days after the last game; at most 1,000 old
-- games leave it at a time.
local there = redis.call('EXISTS', KEYS[1])
redis.call('ZCARD', KEYS[2])
redis.call('HLEN', KEYS[3])
local known = redis.call('ZSCORE', KEYS[4], ARGV[1])
local now = tonumber(redis.call('TIME')[1])
local old = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', '(' .. string.format('%d', now - 2592000), 'LIMIT', 0, 1000)
if there == 1 and not known then
  redis.call('SET', KEYS[5], ARGV[3], 'PX', 604800000)
  redis.call('ZADD', KEYS[4], ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[4], 2592000000)
end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('UNLINK', KEYS[1], KEYS[3])
for _, id in ipairs(old) do
  redis.call('ZREM', KEYS[4], id)
end
return there
