-- batch_add_seen: mark items as seen and keep the newest ones
-- KEYS: 1 rss_seen
-- ARGV: 1 keep  2 items
-- Returns: the items that had not been seen, as a JSON list
-- Round trips: 1
-- NX keeps the time an item was first seen, so that the oldest really go first.
-- items is a JSON list of texts: cjson is exact for those, but writes an empty
-- list as {}.
local now = redis.call('TIME')[1]
local new = {}
for _, item in ipairs(cjson.decode(ARGV[2])) do
  if redis.call('ZADD', KEYS[1], 'NX', now, item) == 1 then
    new[#new + 1] = item
  end
end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[1]))
if #new == 0 then
  return '[]'
end
return cjson.encode(new)
