-- trivia_posted: note the message of a game
-- KEYS: 1 trivia_game
-- ARGV: 1 message_id
-- Returns: 1, or 0 if there is no such game
-- Round trips: 1
if not redis.call('HGET', KEYS[1], 'ends_at') then
  return 0
end
redis.call('HSET', KEYS[1], 'message_id', ARGV[1])
return 1
