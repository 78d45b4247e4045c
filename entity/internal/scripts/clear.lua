-- clear: sweeps items that are all as the caller believes, and are not announced; else it changes nothing, and `sweep`
--   looks at each.
-- KEYS[1] expires: the expiry zset
-- KEYS[2] index_records
-- KEYS[3…] key: the items' hashes, then index keys
-- ARGV[1] items: how many
-- ARGV[2] score: of the last of them: they are all that have at most this one, and it is in the past
-- ARGV[3…] part: their ids, then the number of index keys; for each how many ids, and the ids
-- Returns: {ids that have gone}, {-1} if nothing was changed
-- Bound: O(items × indexes)
-- Round trips: 1
local call = redis.call
local n = tonumber(ARGV[1])
-- include: keys
-- include: marks

if foreign(look('HGET', KEYS[2], '')) then return redis.error_reply(newer) end -- of another type it is refused, too, before anything is written

-- An item that was made again since has a score in the future; one that is gone has none.
if look('ZCOUNT', KEYS[1], '-inf', ARGV[2]) ~= n or call('EXISTS', unpack(KEYS, 3, 2 + n)) > 0 then return {-1} end

local at, key = n + 4, 2 + n
for i = 1, tonumber(ARGV[n + 3]) do
  local count = tonumber(ARGV[at])
  drop(KEYS[key + i], unpack(ARGV, at + 1, at + count))
  at = at + 1 + count
end
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[2])
call('HDEL', KEYS[2], unpack(ARGV, 3, 2 + n))
tidy(KEYS[2])
return {n}
