-- trivia_submit: record an answer while the game runs
-- KEYS: 1 trivia_game  2 trivia_submissions
-- ARGV: 1 user_id  2 answer
-- Returns: the number of users that have answered; -1 no such game; -2 the game is over
-- Round trips: 1
-- The time is the server's: containers disagree, and users would find out. The
-- answer is stored as it came. cjson is not used: decoding and encoding a game
-- would round Discord ids above 2^53 and turn empty lists into objects.
local game = redis.call('HMGET', KEYS[1], 'ends_at', 'status')
if not game[1] then
  return -1
end
if game[2] == 'closed' or tonumber(redis.call('TIME')[1]) > tonumber(game[1]) then
  return -2
end
local left, users = redis.call('PTTL', KEYS[1]), redis.call('HLEN', KEYS[2])
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then
  users = users + 1
end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
if left > 0 then
  redis.call('PEXPIRE', KEYS[2], left)
end
redis.call('HSET', KEYS[1], 'submission_count', string.format('%d', users))
return users
