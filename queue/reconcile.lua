-- reconcile: finds jobs that are in no place, which no step of this queue leaves, but eviction, DEL by hand or a lost write can.
-- KEYS[1] leases, KEYS[2] delayed, KEYS[3] dead, KEYS[4] runs, KEYS[5…] the lanes, behind them the jobs
-- ARGV[1] number of lanes, ARGV[2] channel, then the id of each job
-- Returns the ids of those that were brought back
-- Round trips: 1. O(jobs × length of the lanes and the dead).
local lanes = tonumber(ARGV[1])
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local out = {}
for i = 3, #ARGV do
  local id, job = ARGV[i], KEYS[4 + lanes + i - 2]
  local text = redis.call('GETRANGE', job, 0, 40)
  local there = text == '' or redis.call('ZSCORE', KEYS[1], id) or redis.call('ZSCORE', KEYS[2], id) or redis.call('LPOS', KEYS[3], id)
  for l = 1, lanes do there = there or redis.call('LPOS', KEYS[4 + l], id) end
  if not there then
    if (redis.call('HGET', KEYS[4], id) or '- '):sub(1, 2) ~= '- ' then
      redis.call('ZADD', KEYS[1], now, id) -- as if its lease had just run out: its worker may live, and renews it
    else
      redis.call('RPUSH', KEYS[4 + tonumber(text:match('^%d+ (%d) ') or 1)] or KEYS[5], id)
      redis.call('PUBLISH', ARGV[2], 'ready')
    end
    out[#out + 1] = id
  end
end
return out
