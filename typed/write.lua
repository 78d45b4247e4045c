-- write: runs one writing command and gives its key the declared TTL in the same step.
-- KEYS[1] key
-- ARGV[1] ttl: in ms, 0 for none
-- ARGV[2] mode: new: only a key without TTL gets one; longer: also one with less; renew: always
-- ARGV[3] how: add; replace: what is there goes first; existing: only if the key is there
-- ARGV[4] width: arguments per call, 0 for all
-- ARGV[5] command
-- ARGV[6] heads: the number of its first arguments, which every call gets
-- ARGV[7…] argument: those, then the elements
-- Returns: the reply of the last call, or the sum of the replies of SADD, HSET and ZADD; the sum of INCRBY and HINCRBY
--   as text where a Lua number could not hold it; nil if the key had to be there and was not
-- Bound: O(elements), a call for every `width` of them
-- Round trips: 1
local ttl, width, heads = tonumber(ttl), tonumber(width), tonumber(heads)
local left = redis.call('PTTL', KEYS[1])
if how == 'existing' and left == -2 then
  return false
elseif how == 'replace' then
  redis.call('UNLINK', KEYS[1])
  left = -2
end
local call = {command, KEYS[1]}
for i = 1, heads do
  call[i + 2] = ARGV[i + 6]
end
local sums = command == 'SADD' or command == 'HSET' or command == 'ZADD'
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
if ttl > 0 and (left < 0 or mode == 'renew' or mode == 'longer' and left < ttl) then
  redis.call('PEXPIRE', KEYS[1], ttl)
end
-- only the server can say a number of this size: a Lua number is exact up to 2^53
if type(reply) == 'number' and math.abs(reply) >= 2 ^ 53 then
  reply = command == 'INCRBY' and redis.call('GET', KEYS[1]) or redis.call('HGET', KEYS[1], ARGV[7])
end
return reply
