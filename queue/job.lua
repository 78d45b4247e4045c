-- job: what is done to one job by hand. It reads all it needs before it writes: a key of a wrong type, or one that has moved, lets it do nothing.
-- KEYS[1] leases, KEYS[2] delayed, KEYS[3] dead, KEYS[4] runs, KEYS[5] the job, KEYS[6…] the lanes
-- ARGV[1] verb, ARGV[2] id, ARGV[3] token or text, ARGV[4] text, ARGV[5] channel, ARGV[6] TTL of the queue's keys in ms (0: none), ARGV[7] number of the database
-- Returns what the verb says: 1 if it was done, 0 if there was nothing to do, 2 if a worker was told, 3 if another job has its unique name
-- Round trips: 1. "progress" O(1); "cancel" O(length of the dead and of lanes up to 10,000 long); the others O(length of the dead).
local verb, id = ARGV[1], ARGV[2]
local run = redis.call('HGET', KEYS[4], id) or ''
-- What is known of a job that has begun, as fetch writes it.
local owner, claims, attempt, crashes, cancelled, reason, progress = run:match('^(%S+) (%d+) (%d+) (%d+) (%d)\n([^\n]*)\n(.*)$')
local function note()
  redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- of nothing, and first: a server whose memory is full refuses HSET, unless a script has written already
  redis.call('HSET', KEYS[4], id, table.concat({ owner, claims, attempt, crashes, cancelled }, ' ') .. '\n' .. reason .. '\n' .. progress)
end
if verb == 'progress' then
  if owner ~= ARGV[3] then return 0 end
  progress = ARGV[4]
  redis.call('HSET', KEYS[4], id, table.concat({ owner, claims, attempt, crashes, cancelled }, ' ') .. '\n' .. reason .. '\n' .. progress)
  return 1
end
if verb == 'cancel' and owner and owner ~= '-' then
  cancelled = '1'
  note()
  redis.call('PUBLISH', ARGV[5], 'cancel ' .. ARGV[7] .. ' ' .. owner)
  return 2
end
local text = redis.call('GET', KEYS[5])
local lane, name = (text or ''):match('^%d+ (%d) %d+ %S+ (%S+)\n')
if name == '-' then name = nil end
name = name and name:gsub('%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end)
local holder = name and redis.call('GET', name)
local dead = redis.call('LPOS', KEYS[3], id)
local function remove()
  if holder == id then redis.call('UNLINK', name) end
  redis.call('UNLINK', KEYS[5])
  redis.call('HDEL', KEYS[4], id)
end
if verb == 'cancel' then
  if not text or dead then return 0 end
  redis.call('ZSCORE', KEYS[2], id)
  local short = {}
  for i = 6, #KEYS do
    local length = redis.call('LLEN', KEYS[i])
    if length > 0 and length <= 10000 then short[#short + 1] = KEYS[i] end
  end
  redis.call('ZREM', KEYS[2], id)
  for _, key in ipairs(short) do redis.call('LREM', key, 0, id) end -- from a long one a claim takes it: an id without a job
  remove()
  return 1
end
-- retry, discard: of dead ones
if not dead then return 0 end
if verb == 'discard' or not text then -- without a text: somebody has deleted the job
  redis.call('LREM', KEYS[3], 0, id)
  remove()
  return verb == 'discard' and 1 or 0
end
if holder and holder ~= id then return 3 end
lane = KEYS[5 + tonumber(lane or 1)] or KEYS[6]
redis.call('LLEN', lane)
redis.call('LREM', KEYS[3], 0, id)
if name then redis.call('SET', name, id, 'PX', 604800000) end
if owner then
  attempt, crashes, cancelled, reason = '0', '0', '0', ''
  note()
end
if redis.call('RPUSH', lane, id) == 1 then redis.call('PUBLISH', ARGV[5], 'ready ' .. ARGV[7]) end
if tonumber(ARGV[6]) > 0 then redis.call('PEXPIRE', lane, ARGV[6]) end
return 1
