-- change: removes a key, or gives it a TTL, if all that was planned for it still holds.
-- KEYS[1] key
-- KEYS[2…] other: the sorted sets that must have no score in the future, then the keys that go with it
-- ARGV[1] verb: 'unlink', 'expire', 'expireat' or 'persist'
-- ARGV[2] time: TTL in ms, or the end in Unix ms ('' with unlink)
-- ARGV[3] typed: the type that it must have ('' any)
-- ARGV[4] idle: seconds for which it must be unused ('' none)
-- ARGV[5] sets: how many sorted sets
-- ARGV[6] digest: SHA-1 of what DUMP says without the last ten bytes ('' any)
-- ARGV[7] ends: its expiry in Unix ms (0 none, '' any)
-- Returns: 'done', or why not: 'gone', 'type', 'ttl', 'used', 'works', 'changed'
-- Bound: O(1) per key, and the size of a small value that was kept
-- Round trips: 1
-- include: time
local call = redis.call
local kind = call('TYPE', KEYS[1]).ok
if kind == 'none' then return 'gone' end
if typed ~= '' and kind ~= typed then return 'type' end
if verb == 'expire' or verb == 'expireat' then
  if call('PTTL', KEYS[1]) ~= -1 then return 'ttl' end
  call(verb == 'expire' and 'PEXPIRE' or 'PEXPIREAT', KEYS[1], time)
  return 'done'
end
if verb == 'persist' then
  if string.format('%.0f', call('PEXPIRETIME', KEYS[1])) ~= time then return 'changed' end
  call('PERSIST', KEYS[1])
  return 'done'
end
if idle ~= '' and call('OBJECT', 'IDLETIME', KEYS[1]) < tonumber(idle) then return 'used' end
local now = string.format('(%.0f', (clock()))
for i = 2, 1 + tonumber(sets) do
  if call('TYPE', KEYS[i]).ok == 'zset' and call('ZCOUNT', KEYS[i], now, '+inf') > 0 then return 'works' end
end
if ends ~= '' and string.format('%.0f', math.max(call('PEXPIRETIME', KEYS[1]), 0)) ~= ends then return 'changed' end
if digest ~= '' and redis.sha1hex(string.sub(call('DUMP', KEYS[1]), 1, -11)) ~= digest then return 'changed' end
call('UNLINK', KEYS[1])
for i = 2 + sets, #KEYS do call('UNLINK', KEYS[i]) end
return 'done'
