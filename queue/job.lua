-- job: what is done to one job by hand.
-- KEYS[1] leases, KEYS[2] delayed, KEYS[3] dead, KEYS[4] the job, KEYS[5…] the lanes
-- ARGV[1] verb, ARGV[2] id, ARGV[3] token or text, ARGV[4] text, ARGV[5] channel, ARGV[6] TTL of the queue's keys in ms (0: none)
-- Returns what the verb says: 1 if it was done, 0 if there was nothing to do, 2 if a worker was told
-- Round trips: 1. "progress" O(1); the others O(length of the lanes or the dead).
local verb, id = ARGV[1], ARGV[2]
local f = redis.call('HMGET', KEYS[4], 'owner', 'lane', 'unique')
local function free_name()
  if f[3] and redis.call('GET', f[3]) == id then redis.call('UNLINK', f[3]) end
end
if verb == 'progress' then
  if f[1] ~= ARGV[3] then return 0 end
  redis.call('HSET', KEYS[4], 'progress', ARGV[4])
  return 1
end
if verb == 'cancel' then
  if f[1] then
    redis.call('HSET', KEYS[4], 'cancel', 'true')
    redis.call('PUBLISH', ARGV[5], 'cancel ' .. id)
    return 2
  end
  local found = redis.call('ZREM', KEYS[2], id)
  for i = 5, #KEYS do found = found + redis.call('LREM', KEYS[i], 0, id) end
  if found > 0 then
    free_name()
    redis.call('UNLINK', KEYS[4])
    return 1
  end
  return 0
end
-- retry, discard: of dead ones
if redis.call('LREM', KEYS[3], 0, id) == 0 then return 0 end
if verb == 'discard' then
  free_name()
  redis.call('UNLINK', KEYS[4])
  return 1
end
if redis.call('HDEL', KEYS[4], 'attempt', 'crashes', 'error', 'cancel') and redis.call('HEXISTS', KEYS[4], 'payload') == 0 then return 0 end
local lane = KEYS[4 + (tonumber(f[2]) or 1)] or KEYS[5]
if redis.call('RPUSH', lane, id) == 1 then redis.call('PUBLISH', ARGV[5], 'ready') end
if tonumber(ARGV[6]) > 0 then redis.call('PEXPIRE', lane, ARGV[6]) end
return 1
