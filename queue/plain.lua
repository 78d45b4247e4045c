-- plain: puts jobs at the end of the first lane that need nothing else: their ids are new, and they have no unique name, delay or number of attempts of their own.
-- KEYS[1] the first lane, behind it one per job: the job
-- ARGV[1] TTL of the queue's keys in ms (0: none), ARGV[2] channel, then two per job: id, payload
-- Returns an empty list
-- Round trips: 1. O(jobs).
local t = redis.call('TIME')
local stamp = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local ttl = tonumber(ARGV[1])
local ids = {}
for n = 2, #KEYS do
  -- One that is there is of this very request, whose reply was lost.
  if redis.call('HSET', KEYS[n], 'payload', ARGV[2 * n], 'enqueued', stamp) > 0 then
    ids[#ids + 1] = ARGV[2 * n - 1]
    if ttl > 0 then redis.call('PEXPIRE', KEYS[n], ttl) end
  end
end
if #ids > 0 then
  local length = redis.call('RPUSH', KEYS[1], unpack(ids))
  if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
  -- Whoever sleeps has found all lanes empty.
  if length == #ids then redis.call('PUBLISH', ARGV[2], 'ready') end
end
return {}
