-- add_pending: queue articles for the next summary of a channel
-- KEYS: 1 rss_pending  2 rss_pending_order  3 rss_batch  4 rss_channels
-- ARGV: 1 channel  2 most  3 articles
-- Returns: how many of them from the front are there now; the others found no room
-- Round trips: 1
-- articles is a JSON list of texts, id and article in turn, at most 200 articles; cjson is exact
-- for texts. An article that is there keeps its time. What comes after a batch was taken is queued
-- later than all of the batch. What is older than 48 hours goes, at most 200 at a time. The keys
-- live for 48 hours after the last article, and so as long as it.
local articles = cjson.decode(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local old = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('(%d', now - 172800000), 'LIMIT', 0, 200)
local room = tonumber(ARGV[2]) - redis.call('HLEN', KEYS[1]) + #old
local batch = redis.call('GET', KEYS[3])
if batch then
  now = math.max(now, tonumber(string.sub(batch, 2, -4)) + 1)
end
redis.call('SCARD', KEYS[4])
for _, id in ipairs(old) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
end
local there = 0
for i = 1, #articles, 2 do
  if redis.call('HEXISTS', KEYS[1], articles[i]) == 0 then
    if room < 1 then
      break
    end
    room = room - 1
    redis.call('HSET', KEYS[1], articles[i], articles[i + 1])
    redis.call('ZADD', KEYS[2], string.format('%d', now), articles[i])
  end
  there = there + 1
end
if there > 0 then
  redis.call('PEXPIRE', KEYS[1], 172800000)
  redis.call('PEXPIRE', KEYS[2], 172800000)
  redis.call('SADD', KEYS[4], ARGV[1])
end
return there
