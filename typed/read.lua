-- read: runs one reading command and renews the TTL of its key in the same step; a key that lives for longer keeps its
--   life.
-- KEYS[1] key
-- ARGV[1] ttl: in ms
-- ARGV[2] command
-- ARGV[3…] argument: after the key
-- Returns: the reply of the command
-- Bound: that of the command
-- Round trips: 1
local reply, left = redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3)), redis.call('PTTL', KEYS[1])
if left ~= -2 and left < tonumber(ARGV[1]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return reply
