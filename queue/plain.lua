-- plain: puts jobs at the end of the first lane that need nothing else: their ids are new, and they have no unique name, delay or number of attempts of their own.
-- KEYS[1] the first lane, behind it one per job: the job
-- ARGV[1] TTL of the queue's keys in ms (0: none), ARGV[2] channel, then two per job: id, payload
-- Returns an empty list
-- Round trips: 1. O(jobs).
local KEYS, ARGV = KEYS, ARGV
local t = redis.call('TIME')
local line = string.format('%.0f 1 0 - -\n', t[1] * 1000 + math.floor(t[2] / 1000))
local ttl = tonumber(ARGV[1])
local ids, jobs = {}, {}
for n = 2, #KEYS do
  ids[n - 1] = ARGV[2 * n - 1]
  jobs[2 * n - 3], jobs[2 * n - 2] = KEYS[n], line .. ARGV[2 * n]
end
if redis.call('MSETNX', unpack(jobs)) == 0 then
  -- One that is there is of this very request, whose reply was lost.
  ids = {}
  for n = 2, #KEYS do
    if redis.call('SETNX', KEYS[n], jobs[2 * n - 2]) == 1 then ids[#ids + 1] = ARGV[2 * n - 1] end
  end
end
if ttl > 0 then
  for n = 2, #KEYS do
    if redis.call('PTTL', KEYS[n]) == -1 then redis.call('PEXPIRE', KEYS[n], ttl) end
  end
end
if #ids > 0 then
  local length = redis.call('RPUSH', KEYS[1], unpack(ids))
  if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
  -- Whoever sleeps has found all lanes empty.
  if length == #ids then redis.call('PUBLISH', ARGV[2], 'ready') end
end
return {}
