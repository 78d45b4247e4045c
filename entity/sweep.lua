-- sweep: takes items that have expired out of their indexes, and announces it: each once, whoever sweeps.
-- An item that lives after all, or is elsewhere than the caller knows, is left alone.
--
-- KEYS[1] the expiry zset, KEYS[2] the ledger, then the items' hashes, then index keys and streams
-- ARGV[1] items; then for each its id and its record
-- then the number of index keys; for each 's' or 'z', how many items, and their numbers
-- then the events as `write` has them, each behind the number of its item
-- Returns {ids that have gone, ids that live after all}
-- Round trips: 1
local call, fmt = redis.call, string.format
local t = call('TIME')
local ms = t[1] * 1000 + math.floor(t[2] / 1000)
local now = fmt('%.0f', ms)
local n = tonumber(ARGV[1])

--include send.lua

local ids = {}
for i = 1, n do ids[i] = ARGV[2 * i] end
local hashes = {unpack(KEYS, 3, 2 + n)}
local records = call('HMGET', KEYS[2], unpack(ids))
local scores = call('ZMSCORE', KEYS[1], unpack(ids))
local none = call('EXISTS', unpack(hashes)) == 0

local gone, dead, lives = {}, {}, 0
for i = 1, n do
  local due = scores[i] and tonumber(scores[i]) <= ms
  if due and (records[i] or '') == ARGV[2 * i + 1] then
    local left = none and -2 or call('PTTL', hashes[i])
    if left == -2 then
      gone[i] = true
      dead[#dead + 1] = ids[i]
    else
      -- Somebody has prolonged the hash by hand: the zset learns when it ends.
      lives = lives + 1
      call('ZADD', KEYS[1], 'XX', left == -1 and '+inf' or fmt('%.0f', ms + left), ids[i])
    end
  end
end
if #dead == 0 then return {0, lives} end
call('ZREM', KEYS[1], unpack(dead))
call('HDEL', KEYS[2], unpack(dead))

local at, key = 2 * n + 3, 2 + n
for _ = 1, tonumber(ARGV[2 * n + 2]) do
  key = key + 1
  local members, count = {}, tonumber(ARGV[at + 1])
  for i = at + 2, at + 1 + count do
    local one = tonumber(ARGV[i])
    if gone[one] then members[#members + 1] = ids[one] end
  end
  if #members > 0 then call(ARGV[at] == 'z' and 'ZREM' or 'SREM', KEYS[key], unpack(members)) end
  at = at + 2 + count
end

while at <= #ARGV do
  local parts = tonumber(ARGV[at + 8])
  if gone[tonumber(ARGV[at])] then
    local body = {}
    for i = 0, parts - 1 do body[i + 1] = ARGV[at + 9 + 3 * i] end
    send(at + 2, ARGV[at + 3], '{' .. table.concat(body, ',') .. '}', 0)
  end
  at = at + 9 + 3 * parts
end
return {#dead, lives}
