-- sweep: takes items that have expired out of their indexes, and announces it: each once, also if several sweep. An item
--   that lives after all, or is elsewhere than the caller knows, is left alone.
-- KEYS[1] expires: the expiry zset
-- KEYS[2] index_records
-- KEYS[3…] key: the items' hashes, then index keys and streams
-- ARGV[1] items: how many
-- ARGV[2…] part: for each item its id and its record, then the number of index keys; for each how many items, and their
--   numbers, then the events as `write` has them, each after the number of its item
-- Returns: {ids that have gone, ids that live after all}, or the error of an event that could not be sent: its item
--   stays due
-- Bound: O(items × indexes + events)
-- Round trips: 1
-- include: time
local call, fmt = redis.call, string.format
local ms = clock()
local now = fmt('%.0f', ms)
local n = tonumber(ARGV[1])

-- include: send
-- include: marks

if foreign(look('HGET', KEYS[2], '')) then return redis.error_reply(newer) end
local ids = {}
for i = 1, n do ids[i] = ARGV[2 * i] end
local hashes = {unpack(KEYS, 3, 2 + n)}
local records = call('HMGET', KEYS[2], unpack(ids))
local scores = look('ZMSCORE', KEYS[1], unpack(ids))
local none = call('EXISTS', unpack(hashes)) == 0

local gone, dead, prolonged, lives = {}, {}, {}, 0
for i = 1, n do
  local due = scores[i] and tonumber(scores[i]) <= ms
  if due and (records[i] or '') == ARGV[2 * i + 1] then
    local left = none and -2 or call('PTTL', hashes[i])
    if left == -2 then
      gone[i] = true
      dead[#dead + 1] = i
    else
      -- The hash was prolonged by hand: the zset learns when it ends.
      lives = lives + 1
      prolonged[#prolonged + 1] = left == -1 and '+inf' or fmt('%.0f', ms + left)
      prolonged[#prolonged + 1] = ids[i]
    end
  end
end
-- First what frees memory: after it a full server takes the rest.
if #dead > 0 then call('UNLINK', hashes[dead[1]]) end
if lives > 0 then call('ZADD', KEYS[1], 'XX', unpack(prolonged)) end
if #dead == 0 then return {0, lives} end

local at, key = 2 * n + 3, 2 + n
for _ = 1, tonumber(ARGV[2 * n + 2]) do
  key = key + 1
  local members, count = {}, tonumber(ARGV[at])
  for i = at + 1, at + count do
    local one = tonumber(ARGV[i])
    if gone[one] then members[#members + 1] = ids[one] end
  end
  if #members > 0 then drop(KEYS[key], unpack(members)) end
  at = at + 1 + count
end

local failed
while at <= #ARGV do
  local parts, one = tonumber(ARGV[at + 8]), tonumber(ARGV[at])
  if gone[one] then
    local body = {}
    for i = 0, parts - 1 do body[i + 1] = ARGV[at + 9 + 3 * i] end
    local ok, err = pcall(sendable, at + 2, ARGV[at + 3], 0)
    if ok then ok, err = pcall(send, at + 2, ARGV[at + 3], '{' .. table.concat(body, ',') .. '}', 0) end
    if not ok then
      gone[one] = nil
      failed = type(err) == 'table' and err.err or tostring(err)
    end
  end
  at = at + 9 + 3 * parts
end
local done = {}
for _, one in ipairs(dead) do
  if gone[one] then done[#done + 1] = ids[one] end
end
if #done > 0 then
  call('ZREM', KEYS[1], unpack(done))
  call('HDEL', KEYS[2], unpack(done))
  tidy(KEYS[2])
end
if failed then return redis.error_reply(failed) end
return {#done, lives}
