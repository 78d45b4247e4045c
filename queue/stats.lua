-- stats: says what a queue holds.
-- KEYS[1] leases
-- KEYS[2] delayed
-- KEYS[3] dead
-- KEYS[4] state
-- KEYS[5] workers
-- KEYS[6] runs
-- KEYS[7…] lane
-- ARGV[1] before: the key of a job before its id
-- ARGV[2] after: and after it
-- ARGV[3] limit: ms after which a run is overdue
-- Returns: {server time in ms, paused, leased, of them expired, delayed, due of the first, dead, {worker, counts as dead
--   at, …}, runs that are overdue, µs since the oldest was claimed, leased jobs that were not looked at for that, jobs that
--   came, length and time of the first job per lane …}
-- Bound: O(lanes), and 1,000 workers and runs
-- Round trips: 1
-- include: time
-- include: look
local ms, micros = clock()
local now = string.format('%.0f', ms)
local state = redis.call('HMGET', KEYS[4], 'paused', 'enqueued')
local out = {
  now, state[1] or '', redis.call('ZCARD', KEYS[1]), redis.call('ZCOUNT', KEYS[1], '-inf', now),
  redis.call('ZCARD', KEYS[2]), redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or '0', redis.call('ZCARD', KEYS[3]),
  redis.call('ZRANGE', KEYS[5], 0, 999, 'WITHSCORES'),
}
-- What is known of a job that runs has the time in µs when it was claimed, see known.
local ids, overdue, oldest = redis.call('ZRANGE', KEYS[1], 0, 999), 0, micros
for _, run in ipairs(#ids > 0 and redis.call('HMGET', KEYS[6], unpack(ids)) or {}) do
  local since = tonumber(run and run:sub(1, 2) ~= '- ' and run:match('^%S+ (%d+) ')) or micros
  oldest = math.min(oldest, since)
  if micros - since > tonumber(ARGV[3]) * 1000 then overdue = overdue + 1 end
end
out[9], out[10], out[11], out[12] = overdue, string.format('%.0f', micros - oldest), out[3] - #ids, string.format('%.0f', tonumber(state[2] or 0) or 0)
for i = 7, #KEYS do
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
