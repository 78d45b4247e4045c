-- claim: gives the cached value, or the lease to load it, in one step.
-- KEYS[1] value
-- KEYS[2] fill: `absent`, or the token of the process that loads
-- KEYS[3…] tag: its tags
-- ARGV[1] token
-- ARGV[2] lease: in ms
-- ARGV[3] when: miss: only if there is no value; stale: only if none is loading and the value is no younger than it was
--   seen; force: always, another load is void from now on
-- ARGV[4] seen: with stale: the PTTL that was seen
-- ARGV[5] span: how long a tag remembers, in µs
-- Returns: {'hit', value} | {'absent'} | {'busy', ms left of the lease} | {'mine'}
-- Bound: O(log N) per tag
-- Round trips: 1
-- include: remember
-- include: lease
local fill, wrong = asked('GET', KEYS[2])
if wrong then
  return wrong
end
local left = fill and lease_left(KEYS[2]) or 0
local value, wrongValue = asked(ARGV[3] == 'miss' and 'GET' or 'STRLEN', KEYS[1])
if wrongValue then
  return wrongValue
elseif ARGV[3] == 'miss' then
  if value then
    return {'hit', value}
  elseif fill == 'absent' then
    return {'absent'}
  end
elseif ARGV[3] == 'stale' and redis.call('PTTL', KEYS[1]) > tonumber(ARGV[4]) then
  return {'hit', ''}
end
if ARGV[3] ~= 'force' and fill and fill ~= 'absent' and fill ~= ARGV[1] then
  return {'busy', left}
end
local writes, wrongTag = plan(3, tonumber(ARGV[5]), KEYS[1])
if wrongTag then
  return wrongTag
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
remember(writes, KEYS[1])
return {'mine'}
