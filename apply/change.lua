-- change: removes a key, or gives it a TTL, if all that was planned for it still holds.
-- KEYS: 1 the key, then the sorted sets that must have no score in the future, then the keys that go with it
-- ARGV[1] 'unlink', 'expire', 'expireat' or 'persist'
-- ARGV[2] TTL in ms, or the end in Unix ms ('' with unlink), ARGV[3] the type that it must have ('' any)
-- ARGV[4] seconds for which it must be unused ('' none), ARGV[5] how many sorted sets
-- ARGV[6] SHA-1 of what DUMP says without the last ten bytes ('' any)
-- ARGV[7] its expiry in Unix milliseconds (0 none, '' any)
-- Returns 'done', or why not: 'gone', 'type', 'ttl', 'used', 'works', 'changed'
-- Round trips: 1. O(1) per key, and the size of a small value that was kept.
local call = redis.call
local kind = call('TYPE', KEYS[1]).ok
if kind == 'none' then return 'gone' end
if ARGV[3] ~= '' and kind ~= ARGV[3] then return 'type' end
if ARGV[1] == 'expire' or ARGV[1] == 'expireat' then
  if call('PTTL', KEYS[1]) ~= -1 then return 'ttl' end
  call(ARGV[1] == 'expire' and 'PEXPIRE' or 'PEXPIREAT', KEYS[1], ARGV[2])
  return 'done'
end
if ARGV[1] == 'persist' then
  if string.format('%.0f', call('PEXPIRETIME', KEYS[1])) ~= ARGV[2] then return 'changed' end
  call('PERSIST', KEYS[1])
  return 'done'
end
if ARGV[4] ~= '' and call('OBJECT', 'IDLETIME', KEYS[1]) < tonumber(ARGV[4]) then return 'used' end
local t, sets = call('TIME'), tonumber(ARGV[5])
local now = string.format('(%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
for i = 2, 1 + sets do
  if call('TYPE', KEYS[i]).ok == 'zset' and call('ZCOUNT', KEYS[i], now, '+inf') > 0 then return 'works' end
end
if ARGV[7] ~= '' and string.format('%.0f', math.max(call('PEXPIRETIME', KEYS[1]), 0)) ~= ARGV[7] then return 'changed' end
if ARGV[6] ~= '' and redis.sha1hex(string.sub(call('DUMP', KEYS[1]), 1, -11)) ~= ARGV[6] then return 'changed' end
call('UNLINK', KEYS[1])
for i = 2 + sets, #KEYS do call('UNLINK', KEYS[i]) end
return 'done'
