-- event group: makes a consumer group, and the stream if there is none yet.
-- KEYS[1] stream
-- ARGV[1] group, ARGV[2] the id behind which it begins, ARGV[3] age kept in ms or 0
-- Returns 1 if the group is new
-- Round trips: 1
local read = 0 -- what came before the group is nothing that it has missed
if redis.call('EXISTS', KEYS[1]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  local is = {}
  for i = 1, #info, 2 do is[info[i]] = info[i + 1] end
  read = is['entries-added']
  if ARGV[2] ~= '$' then read = read - is.length end
end
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], ARGV[2], 'MKSTREAM', 'ENTRIESREAD', read)
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
