-- read: run one reading command and renew the TTL of its key in the same step
-- KEYS: 1 the key
-- ARGV: 1 TTL in ms  2 command  3… its arguments behind the key
-- Returns: the reply of the command
-- Round trips: 1
local reply = redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return reply
