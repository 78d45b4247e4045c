-- apart_index: puts ids into an index key and takes others out, if the intents of the caller are not old.
-- KEYS[1] index
-- ARGV[1] deadline: ms by this server's clock until when
-- ARGV[2] keep: TTL of the index keys in ms ('0' none)
-- ARGV[3…] where, id, score: 'in' or 'out'
-- Returns: 'ok' or 'late'
-- Bound: O(log N) per id
-- Round trips: 1
-- include: time
-- include: look
if clock() > tonumber(ARGV[1]) then return 'late' end
local added = false
local is = redis.call('TYPE', KEYS[1]).ok
if is ~= 'zset' and is ~= 'none' then
  for i = 3, #ARGV, 3 do
    if ARGV[i] ~= 'out' then refuse('WRONGTYPE', KEYS[1]) end
  end
end
for i = 3, #ARGV, 3 do
  if ARGV[i] == 'out' then
    if is == 'zset' then redis.call('ZREM', KEYS[1], ARGV[i + 1]) end -- in a key of another type there is no entry
  else
    redis.call('ZADD', KEYS[1], ARGV[i + 2], ARGV[i + 1])
    added = true
  end
end
if added and ARGV[2] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 'ok'
