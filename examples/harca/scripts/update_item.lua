-- update_item: change the content of an item if its version is the expected one
-- KEYS: 1 item
-- ARGV: 1 expected_version  2 content
-- Returns: the new version; 0 version has changed; -1 the item is gone
-- Round trips: 1
-- Content is opaque here: it may be sealed, and cjson would lose empty arrays
-- and whole numbers above 2^53. HSET keeps the item's TTL; the indexes hold none
-- of the fields that change.
local version = redis.call('HGET', KEYS[1], 'version')
if not version then
  return -1
end
if version ~= ARGV[1] then
  return 0
end
local now = redis.call('TIME')
local ms = string.format('%d%03d', tonumber(now[1]), math.floor(tonumber(now[2]) / 1000))
redis.call('HSET', KEYS[1], 'content', ARGV[2], 'updatedAt', ms)
return redis.call('HINCRBY', KEYS[1], 'version', 1)
