-- update_item: change the content of an item if its version is the expected one, and tell it
-- KEYS: 1 item
-- ARGV: 1 expected_version  2 content  3 channel  4 db
-- Returns: the new version; 0 version has changed; -1 the item is gone
-- Round trips: 1
-- Content is opaque here: it may be sealed, and cjson would lose empty arrays
-- and whole numbers above 2^53. HSET keeps the item's TTL; the indexes hold none
-- of the fields that change.
local item = redis.call('HMGET', KEYS[1], 'version', 'id', 'type', 'contextId')
if not item[1] then
  return -1
end
if item[1] ~= ARGV[1] then
  return 0
end
if not redis.acl_check_cmd('PUBLISH', ARGV[3], '') then
  return redis.error_reply('NOPERM this user may not publish the update')
end
local now = redis.call('TIME')
local ms = string.format('%d%03d', tonumber(now[1]), math.floor(tonumber(now[2]) / 1000))
local version = redis.call('HINCRBY', KEYS[1], 'version', 1)
redis.call('HSET', KEYS[1], 'content', ARGV[2], 'updatedAt', ms)
local data = '{"id":' .. cjson.encode(item[2] or '') .. ',"type":' .. cjson.encode(item[3] or '')
  .. ',"contextId":' .. cjson.encode(item[4] or '') .. '}'
redis.call('PUBLISH', ARGV[3], '{"timestamp":' .. ms .. ',"data":' .. data .. ',"db":' .. ARGV[4] .. '}')
return version
