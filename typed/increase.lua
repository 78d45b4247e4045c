-- increase: adds to a whole score and gives its key the declared TTL in the same step.
-- KEYS[1] set
-- ARGV[1] ttl: in ms, 0 for none
-- ARGV[2] mode: new: only a key without TTL gets one; longer: also one with less; renew: always
-- ARGV[3] most: the greatest score, either way
-- ARGV[4] by
-- ARGV[5] member
-- Returns: the sum as text; nil if it would leave what a score holds exactly, or the score is not whole: nothing is
--   changed then
-- Bound: O(log N)
-- Round trips: 1
local ttl, most, by = tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[4])
local have, left = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[5]) or 0), redis.call('PTTL', KEYS[1])
-- a sum past the greatest would be rounded onto it: the room is compared instead
if have % 1 ~= 0 or math.abs(have) > most or by > 0 and by > most - have or by < 0 and -by > most + have then
  return false
end
local sum = string.format('%.0f', have + by)
redis.call('ZADD', KEYS[1], sum, ARGV[5])
if ttl > 0 and (left < 0 or ARGV[2] == 'renew' or ARGV[2] == 'longer' and left < ttl) then
  redis.call('PEXPIRE', KEYS[1], ttl)
end
return sum
