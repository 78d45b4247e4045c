-- merge: add HyperLogLogs up into another and give it its TTL in the same step
-- KEYS: 1 the target, which keeps what it has  2… the sources
-- ARGV: 1 TTL in ms, 0 for none  2 new: only a key without TTL gets one; renew: always
-- Returns: about how many different members the target has
-- Round trips: 1
redis.call('PFMERGE', unpack(KEYS))
if tonumber(ARGV[1]) > 0 and (ARGV[2] == 'renew' or redis.call('PTTL', KEYS[1]) == -1) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return redis.call('PFCOUNT', KEYS[1])
