-- merge: add HyperLogLogs up into another and give it its TTL in the same step
-- KEYS: 1 the target, which keeps what it has  2… the sources
-- ARGV: 1 TTL in ms, 0 for none  2 new: only a key without TTL gets one; longer: also one
--         with less; renew: always
-- Returns: about how many different members the target has
-- Round trips: 1
local ttl, left = tonumber(ARGV[1]), redis.call('PTTL', KEYS[1])
local done = redis.pcall('PFMERGE', unpack(KEYS))
if done.err then -- nothing has been written
  for i = 1, #KEYS do
    local counted = redis.pcall('PFCOUNT', KEYS[i])
    if type(counted) == 'table' then
      return {err = counted.err .. ' (key ' .. KEYS[i] .. ')'}
    end
  end
  return done
end
if ttl > 0 and (left < 0 or ARGV[2] == 'renew' or ARGV[2] == 'longer' and left < ttl) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return redis.call('PFCOUNT', KEYS[1])
