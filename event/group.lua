-- group: makes a consumer group, and the stream if there is none yet.
-- KEYS[1] stream
-- ARGV[1] group
-- ARGV[2] after: the id after which it begins
-- ARGV[3] age: ms for which an entry is kept, or 0
-- Returns: 1 if the group is new
-- Bound: O(groups)
-- Round trips: 1
local make = {'XGROUP', 'CREATE', KEYS[1], ARGV[1], ARGV[2], 'MKSTREAM'}
local there = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if there.err and not string.find(there.err, 'no such key', 1, true) then
  return there
elseif not there.err then
  for _, group in ipairs(there) do
    if group[2] == ARGV[1] then return 0 end
  end
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  local is = {}
  for i = 1, #info, 2 do is[info[i]] = info[i + 1] end
  local read = is['entries-added'] -- of Redis 7.0; what came before the group is nothing that it has missed
  if read then
    if ARGV[2] ~= '$' then read = read - is.length end
    make[7], make[8] = 'ENTRIESREAD', string.format('%.0f', read)
  end
end
redis.call(unpack(make))
if ARGV[3] ~= '0' and redis.call('PTTL', KEYS[1]) == -1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return 1
