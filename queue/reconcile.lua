-- reconcile: finds jobs that are in no place, which no step of this queue leaves, but eviction, DEL by hand or a lost write can.
-- KEYS[1] leases, KEYS[2] delayed, KEYS[3] dead, KEYS[4…] the lanes, behind them the jobs
-- ARGV[1] number of lanes, ARGV[2] channel, then the id of each job
-- Returns the ids of those that were brought back
-- Round trips: 1. O(jobs × length of the lanes and the dead).
local lanes = tonumber(ARGV[1])
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local out = {}
for i = 3, #ARGV do
  local id, job = ARGV[i], KEYS[3 + lanes + i - 2]
  local f = redis.call('HMGET', job, 'owner', 'lane', 'payload')
  local there = not f[3] or redis.call('ZSCORE', KEYS[1], id) or redis.call('ZSCORE', KEYS[2], id) or redis.call('LPOS', KEYS[3], id)
  for l = 1, lanes do there = there or redis.call('LPOS', KEYS[3 + l], id) end
  if not there then
    if f[1] then
      redis.call('ZADD', KEYS[1], now, id) -- as if its lease had just run out: its worker may live, and renews it
    else
      redis.call('RPUSH', KEYS[3 + (tonumber(f[2]) or 1)] or KEYS[4], id)
      redis.call('PUBLISH', ARGV[2], 'ready')
    end
    out[#out + 1] = id
  end
end
return out
