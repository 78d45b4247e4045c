-- write: changes scores of a ranking and gives it the declared TTL in the same step; all or none.
-- KEYS[1] ranking
-- ARGV[1] ttl: in ms, 0 for none
-- ARGV[2] mode: new: only a key without TTL gets one; longer: also one with less; renew: always
-- ARGV[3] verb: add, set or raise (only upwards)
-- ARGV[4] most: the greatest whole score, 0 for any finite number
-- ARGV[5] bits: of a score that hold when it was reached, 0 for none
-- ARGV[6] begins: the Unix second in which the period begins
-- ARGV[7…] score, member
-- Returns: 0 and the new scores, or the place of the pair that would leave the bounds
-- Bound: O(log N) per pair
-- Round trips: 1
-- include: time
local ttl, most, span = tonumber(ttl), tonumber(most), 2 ^ bits
if most == 0 then most = 1.7976931348623157e308 end -- the greatest number that is finite
local left, early = redis.call('PTTL', KEYS[1]), 0
if span > 1 then -- the earlier, the more of 1 is added: floor(stored) is the score
  local elapsed = math.floor(clock() / 1000) - begins
  early = (span - 1 - math.min(math.max(elapsed, 0), span - 1)) / span
end
local stored, reply = {}, {'0'}
for i = 7, #ARGV, 2 do
  local by, member = tonumber(ARGV[i]), ARGV[i + 1]
  local have = stored[member] or tonumber(redis.call('ZSCORE', KEYS[1], member) or nil)
  local score = have and (span > 1 and math.floor(have) or have)
  local new = by
  if verb == 'add' then
    new = (score or 0) + by
  elseif verb == 'raise' then
    new = math.max(score or by, by)
  end
  if new ~= new or math.abs(new) > most then
    return {string.format('%d', (i - 5) / 2)}
  end
  stored[member] = new == score and have or new + early
  reply[#reply + 1] = string.format('%.17g', new)
end
for member, score in pairs(stored) do
  redis.call('ZADD', KEYS[1], string.format('%.17g', score), member)
end
if ttl > 0 and (left < 0 or mode == 'renew' or mode == 'longer' and left < ttl) then
  redis.call('PEXPIRE', KEYS[1], ttl)
end
return reply
