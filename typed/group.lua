-- group: makes a consumer group, and its stream if need be, with the declared TTL.
-- KEYS[1] stream
-- ARGV[1] ttl: in ms, 0 for none
-- ARGV[2] group
-- Returns: 1 if the group is new, 0 if it was there
-- Bound: O(1)
-- Round trips: 1
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[2], '0', 'MKSTREAM')
if type(made) == 'table' and made.err then
  if string.find(made.err, 'BUSYGROUP', 1, true) then
    return 0
  end
  return made
end
if tonumber(ARGV[1]) > 0 and redis.call('PTTL', KEYS[1]) == -1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return 1
