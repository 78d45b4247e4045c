-- take_pending: take all articles of a channel as one batch
-- KEYS: 1 rss_pending_order  2 rss_batch
-- ARGV: none
-- Returns: "new BATCH"; "again BATCH" of one that is not posted yet; "" if nothing waits
-- Round trips: 1
-- A batch is all that was queued up to a millisecond, which is in its name before the last three
-- digits; add_pending queues what comes later after it. So all are taken in one step, however many.
local batch = redis.call('GET', KEYS[2])
if batch and redis.call('ZCOUNT', KEYS[1], '-inf', string.sub(batch, 2, -4)) > 0 then
  return 'again ' .. batch
end
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if not last[1] then
  return ''
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
batch = string.format('b%d%03d', math.max(now, tonumber(last[2])), tonumber(time[2]) % 1000)
redis.call('SET', KEYS[2], batch, 'PX', 172800000)
return 'new ' .. batch
