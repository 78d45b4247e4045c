-- fetch: settles jobs that were worked on, brings back what is due, and claims others.
-- KEYS[1] leases, KEYS[2] delayed, KEYS[3] dead, KEYS[4] state, KEYS[5…] the lanes
-- ARGV[1] token, ARGV[2] jobs wanted, ARGV[3] lease in ms, ARGV[4] "tidy": bring back what is due, ARGV[5] crashes that kill a job, ARGV[6] TTL of the queue's keys in ms (0: none),
-- ARGV[7] and ARGV[8] what stands before and behind the id in the key of a job, ARGV[9] and ARGV[10] in that of a result, ARGV[11] dead jobs kept, ARGV[12] attempts,
-- ARGV[13] µs between two jobs at the queue's rate (0: none), ARGV[14] jobs at once, ARGV[15] numbers of the lanes in the order to look, ARGV[16] channel
-- then five per settlement: verb, id, token, text, ms
-- Returns {server time in ms, ms until something is due (-1: nothing known), {ids that were not ours any more}, id, payload, attempt, claims, enqueued, crashes, id, …}
-- Round trips: 1. O(jobs + settlements), with "tidy" at most 200 more.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local stamp = string.format('%.0f', now)
local ttl = tonumber(ARGV[6])
local before, after = ARGV[7], ARGV[8]
local woken = false

local function keep(key) if ttl > 0 then redis.call('PEXPIRE', key, ttl) end end

local function lane_of(number) return KEYS[4 + (tonumber(number) or 1)] or KEYS[5] end

local function bury(id, job, reason)
  local name = redis.call('HGET', job, 'unique')
  if name and redis.call('GET', name) == id then redis.call('UNLINK', name) end
  redis.call('HDEL', job, 'owner', 'unique')
  redis.call('HSET', job, 'error', reason)
  local length = redis.call('LPUSH', KEYS[3], id)
  keep(KEYS[3])
  while length > tonumber(ARGV[11]) do
    local oldest = redis.call('RPOP', KEYS[3])
    redis.call('UNLINK', before .. oldest .. after)
    length = length - 1
  end
end

local function back(id, job, lane)
  redis.call('HDEL', job, 'owner')
  redis.call('LPUSH', lane_of(lane), id)
  keep(lane_of(lane))
  woken = true
end

-- Settlements. Each is refused if the job has another owner by now.
local lost, ended, over = {}, {}, {}
for i = 17, #ARGV, 5 do
  local verb, id, text = ARGV[i], ARGV[i + 1], ARGV[i + 3]
  local job = before .. id .. after
  local f = verb == 'done' and redis.call('HMGET', job, 'owner', 'unique') or redis.call('HMGET', job, 'owner', 'unique', 'attempt', 'retries', 'lane')
  if f[1] ~= ARGV[i + 2] then
    lost[#lost + 1] = id
  else
    over[#over + 1] = id
    if verb == 'done' then
      ended[#ended + 1] = job
      if text ~= '' then redis.call('SET', ARGV[9] .. id .. ARGV[10], text, 'PX', ARGV[i + 4]) end
      if f[2] and redis.call('GET', f[2]) == id then ended[#ended + 1] = f[2] end
    elseif verb == 'back' then
      redis.call('HINCRBY', job, 'attempt', -1)
      back(id, job, f[5])
    elseif verb == 'retry' and tonumber(f[3]) < tonumber(f[4] or ARGV[12]) then
      redis.call('HDEL', job, 'owner')
      redis.call('HSET', job, 'error', text)
      redis.call('ZADD', KEYS[2], string.format('%.0f', now + tonumber(ARGV[i + 4])), id)
      keep(KEYS[2])
    else
      bury(id, job, text)
    end
  end
end
if #over > 0 then redis.call('ZREM', KEYS[1], unpack(over)) end
if #ended > 0 then redis.call('UNLINK', unpack(ended)) end

local due = -1
if ARGV[4] == 'tidy' then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], '-inf', stamp, 'BYSCORE', 'LIMIT', 0, 100)) do
    redis.call('ZREM', KEYS[2], id)
    local lane = redis.call('HMGET', before .. id .. after, 'lane', 'payload')
    if lane[2] then
      redis.call('RPUSH', lane_of(lane[1]), id)
      keep(lane_of(lane[1]))
      woken = true
    end
  end
  for _, id in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', stamp, 'BYSCORE', 'LIMIT', 0, 100)) do
    redis.call('ZREM', KEYS[1], id)
    local job = before .. id .. after
    if redis.call('EXISTS', job) == 1 then
      local crashes = redis.call('HINCRBY', job, 'crashes', 1)
      redis.call('HINCRBY', job, 'attempt', -1)
      if crashes >= tonumber(ARGV[5]) then
        bury(id, job, 'its workers died ' .. crashes .. ' times')
      else
        back(id, job, redis.call('HGET', job, 'lane'))
      end
    end
  end
  for _, key in ipairs({ KEYS[1], KEYS[2] }) do
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if first then
      local ms = math.max(tonumber(first) - now, 0)
      if due < 0 or ms < due then due = ms end
    end
  end
end

local out = { stamp, 0, lost }
local wanted = tonumber(ARGV[2])
local state = redis.call('HMGET', KEYS[4], 'paused', 'tat')
if state[1] then wanted = 0 end
local gap = tonumber(ARGV[13])
local micros, tat
if gap > 0 and wanted > 0 then
  micros = t[1] * 1000000 + t[2]
  tat = math.max(tonumber(state[2] or '0'), micros)
  if tat > micros + ARGV[14] * gap then -- the clock was put back: that costs one burst
    tat = micros + ARGV[14] * gap
    redis.call('HSET', KEYS[4], 'tat', string.format('%.0f', tat))
    keep(KEYS[4])
  end
  local allowed = math.floor((micros + ARGV[14] * gap - tat) / gap)
  if allowed < 1 then
    due = math.ceil((tat + gap - ARGV[14] * gap - micros) / 1000)
  end
  wanted = math.max(math.min(wanted, allowed), 0)
end
local leased, got = {}, 0
local ends = string.format('%.0f', now + tonumber(ARGV[3]))
for number in ARGV[15]:gmatch('%d') do
  while got < wanted do
    local ids = redis.call('LPOP', lane_of(number), wanted - got)
    if not ids then break end
    for _, id in ipairs(ids) do
      local job = before .. id .. after
      local f = redis.call('HMGET', job, 'payload', 'attempt', 'claims', 'enqueued', 'crashes')
      if f[1] then -- else somebody has deleted the job: its id means nothing
        local attempt, claims = '1', '1' -- text: a number costs as much to write as a command
        if f[3] then
          attempt, claims = string.format('%.0f', (f[2] or 0) + 1), string.format('%.0f', f[3] + 1)
        end
        redis.call('HSET', job, 'owner', ARGV[1], 'attempt', attempt, 'claims', claims)
        leased[#leased + 1] = ends
        leased[#leased + 1] = id
        local n = #out
        out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5], out[n + 6] = id, f[1], attempt, claims, f[4] or '0', f[5] or '0'
        got = got + 1
      end
    end
  end
end
if got > 0 then
  redis.call('ZADD', KEYS[1], unpack(leased))
  keep(KEYS[1])
  if gap > 0 then
    redis.call('HSET', KEYS[4], 'tat', string.format('%.0f', tat + got * gap))
    keep(KEYS[4])
  end
end
if woken and got < wanted then woken = false end -- all of it is in my hands
if woken then redis.call('PUBLISH', ARGV[16], 'ready') end
out[2] = due
return out
