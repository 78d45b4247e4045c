-- rename: gives a key its new name, or removes one that is still as it was read, if all that was planned for it still
--   holds.
-- KEYS[1] key
-- KEYS[2…] other: its new name, to rename it; then the sorted sets that must have no score in the future, then keys
--   that must not be there
-- ARGV[1] verb: 'rename' or 'drop'
-- ARGV[2] sets: how many sorted sets
-- ARGV[3] digest: to drop it: SHA-1 of what DUMP says without the last ten bytes ('' any)
-- ARGV[4] ends: with a digest: its expiry in Unix ms (0 none)
-- ARGV[5] count: to rename it: a field; a hash that has no other one is added to the hash that is there ('' none)
-- Returns: 'done', or why not: 'gone', 'works', 'lease', 'taken', 'changed'
-- Bound: O(1) per key, and the size of a small value
-- Round trips: 1
-- include: time
local call = redis.call
if call('EXISTS', KEYS[1]) == 0 then return 'gone' end
local from, sets = ARGV[1] == 'rename' and 3 or 2, tonumber(ARGV[2])
if sets > 0 then
  local now = string.format('(%.0f', (clock()))
  for i = from, from + sets - 1 do
    if call('TYPE', KEYS[i]).ok == 'zset' and call('ZCOUNT', KEYS[i], now, '+inf') > 0 then return 'works' end
  end
end
for i = from + sets, #KEYS do
  if call('EXISTS', KEYS[i]) == 1 then return 'lease' end
end
if ARGV[1] == 'rename' then
  local was, there
  if ARGV[5] ~= '' and call('TYPE', KEYS[1]).ok == 'hash' and call('HLEN', KEYS[1]) == 1 then
    was, there = call('HGET', KEYS[1], ARGV[5]), call('HGET', KEYS[2], ARGV[5])
  end
  if call('RENAMENX', KEYS[1], KEYS[2]) == 0 then
    if not was then return 'taken' end
    call('HSET', KEYS[2], ARGV[5], string.format('%.0f', (tonumber(there or 0) or 0) + (tonumber(was) or 0)))
    call('UNLINK', KEYS[1])
  end
  return 'done'
end
if ARGV[3] ~= '' then
  local ends = call('PEXPIRETIME', KEYS[1])
  if string.format('%.0f', math.max(ends, 0)) ~= ARGV[4] then return 'changed' end
  if redis.sha1hex(string.sub(call('DUMP', KEYS[1]), 1, -11)) ~= ARGV[3] then return 'changed' end
end
call('UNLINK', KEYS[1])
return 'done'
