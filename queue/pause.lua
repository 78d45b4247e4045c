-- pause: lets no job begin, or jobs begin again.
-- KEYS[1] state
-- ARGV[1] verb: "pause" or "resume"
-- ARGV[2] ttl: of the queue's keys in ms (0: none)
-- ARGV[3] channel
-- ARGV[4] database: its number
-- Returns: an empty list
-- Bound: O(1)
-- Round trips: 1
-- include: look
may(ARGV[3])
redis.call('HDEL', KEYS[1], 'paused') -- also first: a server whose memory is full refuses HSET, unless a script has written already
if ARGV[1] == 'pause' then
  redis.call('HSET', KEYS[1], 'paused', '1')
  redis.call('PERSIST', KEYS[1]) -- a queue that is paused stays so, whatever the TTL of its jobs
  redis.call('PUBLISH', ARGV[3], 'pause ' .. ARGV[4])
else
  if ARGV[2] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  redis.call('PUBLISH', ARGV[3], 'ready ' .. ARGV[4])
end
return {}
