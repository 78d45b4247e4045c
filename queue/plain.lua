-- plain: puts jobs at the end of the first lane that need nothing else: their ids are new, and they have no unique name,
--   delay or number of attempts of their own.
-- KEYS[1] lane: the first one
-- KEYS[2] state
-- KEYS[3…] job
-- ARGV[1] ttl: of the queue's keys in ms (0: none)
-- ARGV[2] channel
-- ARGV[3] from: where in a job's key its id begins
-- ARGV[4] to: and ends, from the end: negative
-- ARGV[5] lane_name
-- ARGV[6] database: its number
-- ARGV[7…] payload: of a job
-- Returns: an empty list
-- Bound: O(jobs)
-- Round trips: 1
-- include: time
-- include: count
local KEYS, ARGV = KEYS, ARGV
local line = string.format('q1 %.0f %s 0 - -\n', (clock()), lane_name)
local ttl, from, to = tonumber(ttl), tonumber(from), tonumber(to)
local sub, ids, jobs = string.sub, {}, {}
for n = 3, #KEYS do
  local key = KEYS[n]
  ids[n - 2] = sub(key, from, to)
  jobs[2 * n - 5], jobs[2 * n - 4] = key, line .. ARGV[n + 4]
end
local was, length = counted(KEYS[2]), look(redis.pcall('LLEN', KEYS[1]), KEYS[1])
if length == 0 then may(channel) end
if redis.call('MSETNX', unpack(jobs)) == 0 then
  -- One that is there is of this very request, whose reply was lost.
  ids = {}
  for n = 3, #KEYS do
    if redis.call('SETNX', KEYS[n], jobs[2 * n - 4]) == 1 then ids[#ids + 1] = sub(KEYS[n], from, to) end
  end
end
if ttl > 0 then
  for n = 3, #KEYS do redis.call('PEXPIRE', KEYS[n], ttl, 'NX') end
end
if #ids > 0 then
  redis.call('RPUSH', KEYS[1], unpack(ids))
  if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
  count(KEYS[2], was, #ids, ttl)
  -- A sleeper has found all lanes empty.
  if length == 0 then redis.call('PUBLISH', channel, 'ready ' .. database) end
end
return {}
