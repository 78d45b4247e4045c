-- write: change scores of a ranking and give it the declared TTL in the same step; all or none
-- KEYS: 1 the ranking
-- ARGV: 1 TTL in ms, 0 for none  2 new: only a key without TTL gets one; longer: also one
--         with less; renew: always
--       3 add, set or raise (only upwards)  4 greatest whole score, 0 for any number
--       5 bits of a score that hold when it was reached, 0 for none
--       6 Unix second in which the period begins  7… score and member, in turns
-- Returns: 0 and the new scores, or the place of the pair that would leave the bounds
-- Round trips: 1
local ttl, most, span = tonumber(ARGV[1]), tonumber(ARGV[4]), 2 ^ ARGV[5]
local left, early = redis.call('PTTL', KEYS[1]), 0
if span > 1 then -- the earlier, the more of 1 is added: floor(stored) is the score
  local elapsed = redis.call('TIME')[1] - ARGV[6]
  early = (span - 1 - math.min(math.max(elapsed, 0), span - 1)) / span
end
local stored, reply = {}, {'0'}
for i = 7, #ARGV, 2 do
  local by, member = tonumber(ARGV[i]), ARGV[i + 1]
  local have = stored[member] or tonumber(redis.call('ZSCORE', KEYS[1], member) or nil)
  local score = have and (span > 1 and math.floor(have) or have)
  local new = by
  if ARGV[3] == 'add' then
    new = (score or 0) + by
  elseif ARGV[3] == 'raise' then
    new = math.max(score or by, by)
  end
  if new ~= new or most > 0 and math.abs(new) > most then
    return {string.format('%d', (i - 5) / 2)}
  end
  stored[member] = new == score and have or new + early
  reply[#reply + 1] = string.format('%.17g', new)
end
for member, score in pairs(stored) do
  redis.call('ZADD', KEYS[1], string.format('%.17g', score), member)
end
if ttl > 0 and (left < 0 or ARGV[2] == 'renew' or ARGV[2] == 'longer' and left < ttl) then
  redis.call('PEXPIRE', KEYS[1], ttl)
end
return reply
