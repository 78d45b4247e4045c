-- apart_index: puts ids into an index key and takes others out, if the intents of the caller are not old.
--
-- KEYS[1] the index
-- ARGV[1] ms by this server's clock until when, ARGV[2] TTL of the index keys in ms ('0' none), then for each 'in' or 'out', id, score
-- Returns 'ok' or 'late'
-- Round trips: 1
local t, added = redis.call('TIME'), false
if t[1] * 1000 + math.floor(t[2] / 1000) > tonumber(ARGV[1]) then return 'late' end
local is = redis.call('TYPE', KEYS[1]).ok
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
