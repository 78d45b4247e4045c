-- trivia_close: close a game
-- KEYS: 1 trivia_game  2 trivia_active
-- ARGV: 1 id  2 early
-- Returns: 1 if it was open; 0 if it was closed; -1 no such game; -2 its time is not over
-- Round trips: 1
-- trivia_submit looks at the same key: no answer comes after this. With early 1 it ends now.
local game = redis.call('HMGET', KEYS[1], 'ends_at', 'status')
if not game[1] then
  return -1
end
if game[2] == 'closed' then
  return 0
end
local now = tonumber(redis.call('TIME')[1])
redis.call('ZCARD', KEYS[2])
if now < tonumber(game[1]) then
  if ARGV[2] ~= '1' then
    return -2
  end
  redis.call('HSET', KEYS[1], 'ends_at', string.format('%d', now))
  redis.call('ZADD', KEYS[2], string.format('%d', now), ARGV[1])
end
redis.call('HSET', KEYS[1], 'status', 'closed')
return 1
