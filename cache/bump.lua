-- bump: a version's number, the next one or the one that it has
-- KEYS: 1 the version
-- ARGV: 1 TTL in ms, 0 for none  2 next: above every earlier one; now: what is there, and the
--         next one if nothing is: a key that was lost had a number below the clock
-- Returns: the number as text
-- Round trips: 1
local time, have = redis.call('TIME'), redis.call('GET', KEYS[1])
if have and (not string.find(have, '^%d+$') or tonumber(have) >= 2 ^ 53 - 1) then
  return redis.error_reply('FORM the key holds no number that a version may have (key ' .. KEYS[1] .. ')')
elseif have and ARGV[2] == 'now' then
  return have
end
local text = string.format('%.0f', math.max(tonumber(have or 0) + 1, time[1] * 1000000 + time[2]))
if tonumber(ARGV[1]) > 0 then
  redis.call('SET', KEYS[1], text, 'PX', ARGV[1])
else
  redis.call('SET', KEYS[1], text)
end
return text
