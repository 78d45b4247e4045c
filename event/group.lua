-- event group: makes a consumer group, and the stream if there is none yet.
-- KEYS[1] stream
-- ARGV[1] group, ARGV[2] the id behind which it begins, ARGV[3] age kept in ms or 0
-- Returns 1 if the group is new
-- Round trips: 1
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], ARGV[2], 'MKSTREAM')
if type(made) == 'table' and made.err then
  if string.find(made.err, 'BUSYGROUP', 1, true) then
    return 0
  end
  return made
end
if ARGV[3] ~= '0' and redis.call('PTTL', KEYS[1]) == -1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return 1
