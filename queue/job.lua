-- job: what is done to one job by hand.
-- KEYS[1] leases, KEYS[2] delayed, KEYS[3] dead, KEYS[4] runs, KEYS[5] the job, KEYS[6…] the lanes
-- ARGV[1] verb, ARGV[2] id, ARGV[3] token or text, ARGV[4] text, ARGV[5] channel, ARGV[6] TTL of the queue's keys in ms (0: none)
-- Returns what the verb says: 1 if it was done, 0 if there was nothing to do, 2 if a worker was told
-- Round trips: 1. "progress" O(1); the others O(length of the lanes or the dead).
local verb, id = ARGV[1], ARGV[2]
local run = redis.call('HGET', KEYS[4], id) or ''
-- What is known of a job that has begun, as fetch writes it.
local owner, claims, attempt, crashes, cancelled, reason, progress = run:match('^(%S+) (%d+) (%d+) (%d+) (%d)\n([^\n]*)\n(.*)$')
local function note()
  redis.call('HSET', KEYS[4], id, table.concat({ owner, claims, attempt, crashes, cancelled }, ' ') .. '\n' .. reason .. '\n' .. progress)
end
local function remove()
  local name = (redis.call('GET', KEYS[5]) or ''):match('^%d+ %d %d+ %S+ (%S+)\n')
  if name and name ~= '-' then
    name = name:gsub('%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end)
    if redis.call('GET', name) == id then redis.call('UNLINK', name) end
  end
  redis.call('UNLINK', KEYS[5])
  redis.call('HDEL', KEYS[4], id)
end
if verb == 'progress' then
  if owner ~= ARGV[3] then return 0 end
  progress = ARGV[4]
  note()
  return 1
end
if verb == 'cancel' then
  if owner and owner ~= '-' then
    cancelled = '1'
    note()
    redis.call('PUBLISH', ARGV[5], 'cancel ' .. id)
    return 2
  end
  local found = redis.call('ZREM', KEYS[2], id)
  for i = 6, #KEYS do found = found + redis.call('LREM', KEYS[i], 0, id) end
  if found == 0 then return 0 end
  remove()
  return 1
end
-- retry, discard: of dead ones
if redis.call('LREM', KEYS[3], 0, id) == 0 then return 0 end
if verb == 'discard' then
  remove()
  return 1
end
local text = redis.call('GETRANGE', KEYS[5], 0, 40)
if text == '' then -- somebody has deleted the job
  redis.call('HDEL', KEYS[4], id)
  return 0
end
if owner then
  attempt, crashes, cancelled, reason = '0', '0', '0', ''
  note()
end
local lane = KEYS[5 + tonumber(text:match('^%d+ (%d) ') or 1)] or KEYS[6]
if redis.call('RPUSH', lane, id) == 1 then redis.call('PUBLISH', ARGV[5], 'ready') end
if tonumber(ARGV[6]) > 0 then redis.call('PEXPIRE', lane, ARGV[6]) end
return 1
