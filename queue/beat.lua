-- beat: gives a sign of life of a worker: it lives, and the leases of its jobs are renewed.
-- KEYS[1] leases
-- KEYS[2] workers
-- KEYS[3] runs
-- KEYS[4] state
-- ARGV[1] worker: its name
-- ARGV[2] lease: in ms
-- ARGV[3] dead: ms after which it counts as dead
-- ARGV[4] workers_ttl: in ms
-- ARGV[5] ttl: of the queue's keys in ms (0: none)
-- ARGV[6…] id, token: of a job
-- Returns: {{numbers of the jobs that are not its own any more}, {numbers of those that are to be cancelled}, "" or that
--   the queue is paused}, counted from 1
-- Bound: O(jobs), 1,000 jobs
-- Round trips: 1
-- include: time
-- include: look
local now = clock()
local ends = string.format('%.0f', now + tonumber(ARGV[2]))
local lost, cancelled, leased, ids, runs = {}, {}, {}, {}, {}
for i = 6, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
if #ids > 0 then runs = look(redis.pcall('HMGET', KEYS[3], unpack(ids)), KEYS[3]) end
for n = 1, #ids do
  local run = runs[n]
  if not run or run:find(ARGV[2 * n + 5] .. ' ', 1, true) ~= 1 then
    lost[#lost + 1] = n
  else
    leased[#leased + 1] = ends
    leased[#leased + 1] = ids[n]
    if run:find('^%S+ %d+ %d+ %d+ 1 %d r1\n') then cancelled[#cancelled + 1] = n end
  end
end
look(redis.pcall('ZCARD', KEYS[1]), KEYS[1])
-- No lease depends on these two: a key of a wrong type is passed over.
local working, paused = redis.pcall('ZCARD', KEYS[2]), redis.pcall('HGET', KEYS[4], 'paused')
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- of nothing, and first: a server whose memory is full refuses ZADD, unless a script has written already
if #leased > 0 then redis.call('ZADD', KEYS[1], 'GT', unpack(leased)) end
if ARGV[5] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
  redis.call('PEXPIRE', KEYS[3], ARGV[5])
end
if type(working) == 'number' then
  -- Workers that are gone for long, and their answers, see fetch.
  for _, name in ipairs(redis.call('ZRANGE', KEYS[2], '-inf', string.format('%.0f', now - tonumber(ARGV[4])), 'BYSCORE', 'LIMIT', 0, 10)) do
    redis.pcall('HDEL', KEYS[4], 'answer ' .. name .. ' 0', 'answer ' .. name .. ' 1')
    redis.call('ZREM', KEYS[2], name)
  end
  redis.call('ZADD', KEYS[2], string.format('%.0f', now + tonumber(ARGV[3])), ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
return { lost, cancelled, type(paused) == 'string' and paused or '' }
