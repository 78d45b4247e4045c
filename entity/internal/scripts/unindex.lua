-- unindex: takes items out of indexes that are no longer declared. One that was written meanwhile is left for the next
--   time.
-- KEYS[1] index_records
-- KEYS[2…] index
-- ARGV[1] items: how many
-- ARGV[2…] part: for each its id, its index record, its new one, how many keys, and their numbers
-- Returns: {how many items were changed}
-- Bound: O(items × keys)
-- Round trips: 1
-- include: look
local call = redis.call
local at, done, writes = 2, 0, {}
for _ = 1, tonumber(ARGV[1]) do
  local id, count = ARGV[at], tonumber(ARGV[at + 3])
  if look('HGET', KEYS[1], id) == ARGV[at + 1] then
    done = done + 1
    for i = at + 4, at + 3 + count do
      local key = KEYS[tonumber(ARGV[i])]
      if call('TYPE', key).ok == 'zset' then writes[#writes + 1] = {'ZREM', key, id} end
    end
    writes[#writes + 1] = {'HSET', KEYS[1], id, ARGV[at + 2]}
  end
  at = at + 4 + count
end
for _, write in ipairs(writes) do call(unpack(write)) end
return {done}
