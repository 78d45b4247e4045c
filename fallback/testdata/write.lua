-- write: makes one write of a versioned hash, for tests.
-- KEYS[1] hash
-- ARGV[1] verb: put, update or delete
-- ARGV[2] wanted: the version that must be there (-1 any, 0 nothing)
-- ARGV[3] ttl: in ms (0: none, or as it was)
-- ARGV[4] drops: how many fields to remove
-- ARGV[5…] part: these, then fields and values
-- Returns: the version that is there now (0: nothing), -1 if the condition does not hold, -2 if there is nothing to
--   update or delete
-- Bound: O(fields)
-- Round trips: 1
-- include: time
local kind, wanted, ttl, drops = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local version = redis.call('HGET', KEYS[1], 'version')
if wanted ~= '-1' and wanted ~= (version or '0') then return -1 end
if kind ~= 'put' and not version then return -2 end
if kind == 'delete' then
  redis.call('DEL', KEYS[1])
  return 0
end
if kind == 'put' then redis.call('DEL', KEYS[1]) end
if drops > 0 then redis.call('HDEL', KEYS[1], unpack(ARGV, 5, 4 + drops)) end
if version then
  version = string.format('%.0f', tonumber(version) + 1)
else
  local _, micros = clock()
  version = string.format('%.0f', micros)
end
redis.call('HSET', KEYS[1], 'version', version, unpack(ARGV, 5 + drops))
if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
return tonumber(version)
