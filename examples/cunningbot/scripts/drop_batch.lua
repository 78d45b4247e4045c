-- drop_batch: articles of a batch were posted
-- KEYS: 1 rss_pending  2 rss_pending_order  3 rss_batch  4 rss_channels
-- ARGV: 1 batch  2 channel  3 ids
-- Returns: how many are left of the batch; -1 if it is another one by now
-- Round trips: 1
-- ids is a JSON list of texts, at most 200.
local ids = cjson.decode(ARGV[3])
if redis.call('GET', KEYS[3]) ~= ARGV[1] then
  return -1
end
redis.call('HLEN', KEYS[1])
redis.call('ZCARD', KEYS[2])
redis.call('SCARD', KEYS[4])
for _, id in ipairs(ids) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
end
local left = redis.call('ZCOUNT', KEYS[2], '-inf', string.sub(ARGV[1], 2, -4))
if left == 0 then
  redis.call('DEL', KEYS[3])
  if redis.call('ZCARD', KEYS[2]) == 0 then
    redis.call('SREM', KEYS[4], ARGV[2])
  end
end
return left
