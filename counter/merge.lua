-- merge: adds HyperLogLogs up into another and gives it its TTL in the same step.
-- KEYS[1] target: it keeps what it has
-- KEYS[2…] source
-- ARGV[1] ttl: in ms, 0 for none
-- ARGV[2] mode: new: only a key without TTL gets one; longer: also one with less; renew: always
-- Returns: about how many different members the target has
-- Bound: O(keys), 12 kB of each
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
