-- read: run one reading command and renew the TTL of its key in the same step; a key that
-- lives for longer keeps its life
-- KEYS: 1 the key
-- ARGV: 1 TTL in ms  2 command  3… its arguments after the key
-- Returns: the reply of the command
-- Round trips: 1
local reply, left = redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3)), redis.call('PTTL', KEYS[1])
if left ~= -2 and left < tonumber(ARGV[1]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return reply
