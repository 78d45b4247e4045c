-- trivia_open: make a game, once
-- KEYS: 1 trivia_game  2 trivia_active  3 trivia_history
-- ARGV: 1 id  2 question  3 options  4 answer  5 channel_id  6 seconds
-- Returns: 1, or 0 if it is there or was played already
-- Round trips: 1
-- The time is the server's. The game lives for a day, the index for a day after its last game.
if redis.call('EXISTS', KEYS[1]) == 1 or redis.call('ZSCORE', KEYS[3], ARGV[1]) then
  return 0
end
redis.call('ZCARD', KEYS[2])
local now = tonumber(redis.call('TIME')[1])
local ends = string.format('%d', now + tonumber(ARGV[6]))
redis.call('HSET', KEYS[1], 'question', ARGV[2], 'options', ARGV[3], 'answer', ARGV[4], 'channel_id', ARGV[5],
  'started_at', string.format('%d', now), 'ends_at', ends, 'status', 'open')
redis.call('PEXPIRE', KEYS[1], 86400000)
redis.call('ZADD', KEYS[2], ends, ARGV[1])
redis.call('PEXPIRE', KEYS[2], 172800000)
return 1
