-- bump: gives a version's number, the next one or the one that it has.
-- KEYS[1] version
-- ARGV[1] ttl: in ms, 0 for none
-- ARGV[2] which: next: above every earlier one; now: what is there, and the next one if nothing is: a key that was lost
--   had a number below the clock
-- Returns: the number as text
-- Bound: O(1)
-- Round trips: 1
-- include: time
-- include: fence
local have = redis.call('GET', KEYS[1])
local last = fence_in(have)
if not last or last == 2 ^ 53 - 1 then
  return redis.error_reply('FORM the key holds no number that a version may have (key ' .. KEYS[1] .. ')')
elseif have and ARGV[2] == 'now' then
  return have
end
local _, micros = clock()
local text = string.format('%.0f', fence_after(last, micros))
if tonumber(ARGV[1]) > 0 then
  redis.call('SET', KEYS[1], text, 'PX', ARGV[1])
else
  redis.call('SET', KEYS[1], text)
end
return text
