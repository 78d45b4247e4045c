-- fill: stores what was loaded, if the lease to do so is still held.
-- KEYS[1] value
-- KEYS[2] fill
-- KEYS[3…] tag: its tags
-- ARGV[1] token: empty for a write that needs no lease
-- ARGV[2] what: value | absent
-- ARGV[3] ttl: in ms, 0 for none (of absent: do not remember)
-- ARGV[4] text: the value
-- ARGV[5] span: how long a tag remembers, in µs
-- Returns: 1, or 0 if the lease is gone: an invalidation, or a newer load
-- Bound: O(log N) per tag
-- Round trips: 1
-- include: remember
local fill, wrongFill = asked('GET', KEYS[2])
if wrongFill then
  return wrongFill
elseif ARGV[1] ~= '' and fill ~= ARGV[1] then
  return 0
end
local _, wrongValue = asked('STRLEN', KEYS[1]) -- SET and UNLINK take any type
if wrongValue then
  return wrongValue
end
local ttl = tonumber(ARGV[3])
if ARGV[2] == 'absent' then
  redis.call('UNLINK', KEYS[1], KEYS[2])
  if ttl > 0 then
    redis.call('SET', KEYS[2], 'absent', 'PX', ttl)
  end
  return 1
end
local writes, wrong = plan(3, tonumber(ARGV[5]), KEYS[1])
if wrong then
  return wrong
end
if ttl > 0 then
  redis.call('SET', KEYS[1], ARGV[4], 'PX', ttl)
else
  redis.call('SET', KEYS[1], ARGV[4])
end
remember(writes, KEYS[1])
redis.call('UNLINK', KEYS[2])
return 1
