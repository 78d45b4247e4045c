-- stats: says what a queue holds.
-- KEYS[1] leases
-- KEYS[2] delayed
-- KEYS[3] dead
-- KEYS[4] state
-- KEYS[5] workers
-- KEYS[6…] lane
-- ARGV[1] before: the key of a job before its id
-- ARGV[2] after: and after it
-- Returns: {server time in ms, paused, leased, of them expired, delayed, due of the first, dead, {worker, counts as dead
--   at, …}, length and time of the first job per lane …}
-- Bound: O(lanes), and 1,000 workers
-- Round trips: 1
-- include: time
-- include: look
local now = string.format('%.0f', (clock()))
local out = {
  now, redis.call('HGET', KEYS[4], 'paused') or '', redis.call('ZCARD', KEYS[1]), redis.call('ZCOUNT', KEYS[1], '-inf', now),
  redis.call('ZCARD', KEYS[2]), redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or '0', redis.call('ZCARD', KEYS[3]),
  redis.call('ZRANGE', KEYS[5], 0, 999, 'WITHSCORES'),
}
for i = 6, #KEYS do
  out[#out + 1] = redis.call('LLEN', KEYS[i])
  local time
  for _, id in ipairs(redis.call('LRANGE', KEYS[i], 0, 9)) do -- an id without a job is none: it was cancelled, or its TTL is over
    local job = ARGV[1] .. id .. ARGV[2]
    local text = redis.pcall('GETRANGE', job, 0, 24)
    if type(text) == 'table' and not text.err:find('WRONGTYPE', 1, true) then look(text, job) end
    time = time or type(text) == 'string' and text:match('^q1 (%d+) ')
  end
  out[#out + 1] = time or '0'
end
return out
