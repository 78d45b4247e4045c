-- write: run one writing command and give its key the declared TTL in the same step
-- KEYS: 1 the key
-- ARGV: 1 TTL in ms, 0 for none  2 new: only a key without TTL gets one; longer: also one
--         with less; renew: always
--       3 add; replace: what is there goes first; existing: only if the key is there
--       4 arguments per call, 0 for all  5 command  6 number of its first arguments, which
--       every call gets  7… those, then the elements
-- Returns: the reply of the last call, or the sum of the replies of SADD, HSET and
--          ZADD; the sum of INCRBY and HINCRBY as text where a Lua number could not hold it;
--          nil if the key had to be there and was not
-- Round trips: 1
local ttl, width, heads = tonumber(ARGV[1]), tonumber(ARGV[4]), tonumber(ARGV[6])
local left = redis.call('PTTL', KEYS[1])
if ARGV[3] == 'existing' and left == -2 then
  return false
elseif ARGV[3] == 'replace' then
  redis.call('UNLINK', KEYS[1])
  left = -2
end
local call = {ARGV[5], KEYS[1]}
for i = 1, heads do
  call[i + 2] = ARGV[i + 6]
end
local sums = ARGV[5] == 'SADD' or ARGV[5] == 'HSET' or ARGV[5] == 'ZADD'
local from, reply, sum = 7 + heads, 0, 0
while from <= #ARGV do
  local to = width > 0 and math.min(from + width - 1, #ARGV) or #ARGV
  for i = from, math.max(to, from + #call - heads - 3) do
    call[heads + 3 + i - from] = i <= to and ARGV[i] or nil
  end
  reply = redis.call(unpack(call))
  if sums then
    sum = sum + reply
    reply = sum
  end
  from = to + 1
end
if ttl > 0 and (left < 0 or ARGV[2] == 'renew' or ARGV[2] == 'longer' and left < ttl) then
  redis.call('PEXPIRE', KEYS[1], ttl)
end
-- only the server can say a number of this size: a Lua number is exact up to 2^53
if type(reply) == 'number' and math.abs(reply) >= 2 ^ 53 then
  reply = ARGV[5] == 'INCRBY' and redis.call('GET', KEYS[1]) or redis.call('HGET', KEYS[1], ARGV[7])
end
return reply
