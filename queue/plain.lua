-- plain: puts jobs at the end of the first lane that need nothing else: their ids are new, and they have no unique
-- name, delay or number of attempts of their own.
-- KEYS[1] the first lane, after it one per job: the job
-- ARGV[1] TTL of the queue's keys in ms (0: none), ARGV[2] channel, ARGV[3] and ARGV[4] where in a job's key its id
-- begins and ends (from the end: negative), ARGV[5] name of the lane,
-- ARGV[6] number of the database, then per job its payload
-- Returns an empty list
-- Round trips: 1. O(jobs).
local KEYS, ARGV = KEYS, ARGV
local t = redis.call('TIME')
local line = string.format('q1 %.0f %s 0 - -\n', t[1] * 1000 + math.floor(t[2] / 1000), ARGV[5])
local ttl, from, to = tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[4])
local sub, ids, jobs = string.sub, {}, {}
for n = 2, #KEYS do
  local key = KEYS[n]
  ids[n - 1] = sub(key, from, to)
  jobs[2 * n - 3], jobs[2 * n - 2] = key, line .. ARGV[n + 5]
end
local length = look(redis.pcall('LLEN', KEYS[1]), KEYS[1])
if length == 0 then may(ARGV[2]) end
if redis.call('MSETNX', unpack(jobs)) == 0 then
  -- One that is there is of this very request, whose reply was lost.
  ids = {}
  for n = 2, #KEYS do
    if redis.call('SETNX', KEYS[n], jobs[2 * n - 2]) == 1 then ids[#ids + 1] = sub(KEYS[n], from, to) end
  end
end
if ttl > 0 then
  for n = 2, #KEYS do redis.call('PEXPIRE', KEYS[n], ttl, 'NX') end
end
if #ids > 0 then
  redis.call('RPUSH', KEYS[1], unpack(ids))
  if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
  -- A sleeper has found all lanes empty.
  if length == 0 then redis.call('PUBLISH', ARGV[2], 'ready ' .. ARGV[6]) end
end
return {}
