-- job: does to one job what is asked by hand.
-- KEYS[1] leases
-- KEYS[2] delayed
-- KEYS[3] dead
-- KEYS[4] runs
-- KEYS[5] job
-- KEYS[6…] lane
-- ARGV[1] verb
-- ARGV[2] id
-- ARGV[3] token: or of a dead job since when it is dead (empty: any moment)
-- ARGV[4] said: how far it is
-- ARGV[5] channel
-- ARGV[6] ttl: of the queue's keys in ms (0: none)
-- ARGV[7] database: its number
-- ARGV[8] lane_names: each with a space after it
-- Returns: what the verb says: 1 if it was done, 0 if there was nothing to do, 2 if a worker was told, 3 if another job
--   has its unique name
-- Bound: "cancel" O(length of lanes up to 10,000 long, 90,000 in all); the others O(1)
-- Round trips: 1
-- include: look
-- include: known
local leases, delayed, deads, runs, job = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local r = known(look(redis.pcall('HGET', runs, id), runs) or '')
if not r then refuse(runs) end
local function note()
  redis.call('ZREMRANGEBYRANK', leases, 1, 0) -- of nothing, and first: a server whose memory is full refuses HSET, unless a script has written already
  redis.call('HSET', runs, id, noted(r, r.owner))
end
if verb == 'progress' then
  if r.owner ~= token then return 0 end
  r.progress = said
  redis.call('HSET', runs, id, noted(r, r.owner))
  return 1
end
if verb == 'cancel' and r.owner ~= '-' then
  look(redis.pcall('ZCARD', leases), leases)
  may(channel)
  r.cancelled = true
  note()
  redis.call('PUBLISH', channel, 'cancel ' .. database .. ' ' .. r.owner)
  return 2
end
local text = look(redis.pcall('GET', job), job)
if text and newer(text) then refuse(job) end
local lane, name = (text or ''):match('^q1 %d+ (%S+) %d+ %S+ (%S+)\n')
name = unescaped(name)
local holder = name and look(redis.pcall('GET', name), name)
local dead = look(redis.pcall('ZSCORE', deads, id), deads)
local function remove()
  redis.call('UNLINK', job)
  if holder == id then redis.call('UNLINK', name) end
  redis.call('HDEL', runs, id)
end
if verb == 'cancel' then
  if not text or dead then return 0 end
  look(redis.pcall('ZCARD', delayed), delayed)
  local short, left = {}, 90000
  for i = 6, #KEYS do
    local length = look(redis.pcall('LLEN', KEYS[i]), KEYS[i])
    if length > 0 and length <= math.min(10000, left) then short[#short + 1], left = KEYS[i], left - length end
  end
  remove()
  redis.call('ZREM', delayed, id)
  for _, key in ipairs(short) do redis.call('LREM', key, 0, id) end -- from a long one a claim takes it: an id without a job
  return 1
end
if verb == 'run' then -- of one that waits for its time
  if not text or not look(redis.pcall('ZSCORE', delayed, id), delayed) then return 0 end
elseif not dead then -- retry, discard: of dead ones
  return 0
end
if token ~= '' and math.floor(tonumber(dead)) ~= tonumber(token) then return 0 end -- it died again
if verb == 'discard' or not text then -- without a text: the job was deleted
  remove()
  redis.call('ZREM', deads, id)
  return verb == 'discard' and 1 or 0
end
if verb == 'run' then holder = nil end -- it waits already, also if another job has its name by now
if holder and holder ~= id then return 3 end
local to, number = KEYS[6], 0
for declared in lane_names:gmatch('(%S+) ') do
  number = number + 1
  if declared == lane then to = KEYS[5 + number] end
end
local length = look(redis.pcall('LLEN', to), to)
look(redis.pcall('ZCARD', leases), leases)
if length == 0 then may(channel) end
redis.call('ZREM', verb == 'run' and delayed or deads, id)
if verb == 'retry' and name then redis.call('SET', name, id, 'PX', 604800000) end
if verb == 'retry' and r.fence > 0 then
  r.attempt, r.crashes, r.doubt, r.cancelled, r.reason = 0, 0, 0, false, ''
  note()
end
redis.call('RPUSH', to, id)
if length == 0 then redis.call('PUBLISH', channel, 'ready ' .. database) end
if tonumber(ttl) > 0 then redis.call('PEXPIRE', to, ttl) end
return 1
