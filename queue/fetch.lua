-- fetch: settles jobs that were worked on, brings back what is due, and claims others.
-- KEYS[1] leases, KEYS[2] delayed, KEYS[3] dead, KEYS[4] state, KEYS[5] runs, KEYS[6…] the lanes
-- ARGV[1] token, ARGV[2] jobs wanted, ARGV[3] lease in ms, ARGV[4] "tidy": bring back what is due, ARGV[5] crashes that kill a job, ARGV[6] TTL of the queue's keys in ms (0: none),
-- ARGV[7] and ARGV[8] what stands before and behind the id in the key of a job, ARGV[9] and ARGV[10] in that of a result, ARGV[11] dead jobs kept, ARGV[12] attempts,
-- ARGV[13] µs between two jobs at the queue's rate (0: none), ARGV[14] jobs at once, ARGV[15] numbers of the lanes in the order to look, ARGV[16] channel
-- ARGV[17] groups of jobs that are done and left nothing, each: token, number of jobs, their ids; then six per other settlement: verb, id, token, text, ms, the job's unique name.
-- A token there has a space behind it, as in what is known of a job.
-- Returns {ms until something is due (-1: nothing known), {ids that were not ours any more}, {ids}, {jobs}, {of those that have been claimed before: which, attempt, claims, crashes, …}, "" or that the queue is paused, {of jobs that have died: id, reason, attempts, crashes, …}}
-- Round trips: 1. O(jobs + settlements), with "tidy" at most 200 more.
local KEYS, ARGV = KEYS, ARGV
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local stamp = string.format('%.0f', now)
local ttl = tonumber(ARGV[6])
local before, after = ARGV[7], ARGV[8]
local runs = KEYS[5]
local woken, dead = false, {}

local function keep(key) if ttl > 0 then redis.call('PEXPIRE', key, ttl) end end

-- What is known of a job that has begun: "owner claims attempt crashes cancelled", a line with its last error, and how far it is.
local function read(run)
  local owner, claims, attempt, crashes, cancelled, reason, progress = run:match('^(%S+) (%d+) (%d+) (%d+) (%d)\n([^\n]*)\n(.*)$')
  if not owner then return '-', 0, 0, 0, '0', '', '' end -- nothing of ours
  return owner, tonumber(claims), tonumber(attempt), tonumber(crashes), cancelled, reason, progress
end

-- A run that is over: nobody owns the job.
local function leave(id, run, attempt, crashes, reason)
  local _, claims, _, _, cancelled, _, progress = read(run)
  redis.call('HSET', runs, id, string.format('- %.0f %.0f %.0f %s\n', claims, attempt, crashes, cancelled) .. reason .. '\n' .. progress)
  keep(runs)
end

-- The line before a payload: "enqueued lane attempts request unique". This is its lane and its attempts, nothing for a job that is gone.
local function begin_of(job)
  local text = redis.call('GETRANGE', job, 0, 40)
  if text == '' then return end
  local lane, attempts = text:match('^%d+ (%d) (%d+) ')
  return tonumber(lane or 1), tonumber(attempts or 0)
end

local function lane_of(number) return KEYS[5 + tonumber(number)] or KEYS[6] end

local function bury(id, job, run, attempt, crashes, reason)
  local name = (redis.call('GET', job) or ''):match('^%d+ %d %d+ %S+ (%S+)\n')
  if name and name ~= '-' then
    name = name:gsub('%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end)
    if redis.call('GET', name) == id then redis.call('UNLINK', name) end
  end
  leave(id, run, attempt, crashes, reason)
  local d = #dead
  dead[d + 1], dead[d + 2], dead[d + 3], dead[d + 4] = id, reason, string.format('%.0f', attempt), string.format('%.0f', crashes)
  local length = redis.call('LPUSH', KEYS[3], id)
  keep(KEYS[3])
  while length > tonumber(ARGV[11]) do
    local oldest = redis.call('RPOP', KEYS[3])
    redis.call('UNLINK', before .. oldest .. after)
    redis.call('HDEL', runs, oldest)
    length = length - 1
  end
end

local function back(id, lane)
  redis.call('LPUSH', lane_of(lane), id)
  keep(lane_of(lane))
  woken = true
end

-- Settlements. Each is refused if the job has another owner by now.
local lost, over, ended = {}, {}, {}
local i = 18
for _ = 1, tonumber(ARGV[17]) do
  local token, last = ARGV[i], i + 1 + ARGV[i + 1]
  for n, run in ipairs(redis.call('HMGET', runs, unpack(ARGV, i + 2, last))) do
    local id = ARGV[i + 1 + n]
    if run and run:find(token, 1, true) == 1 then
      over[#over + 1] = id
      ended[#ended + 1] = before .. id .. after
    else
      lost[#lost + 1] = id
    end
  end
  i = last + 1
end
local forgotten = { unpack(over) }
local function drop()
  if #forgotten > 0 then redis.call('HDEL', runs, unpack(forgotten)) end
  forgotten = {}
end
for i = i, #ARGV, 6 do
  local verb, id, text = ARGV[i], ARGV[i + 1], ARGV[i + 3]
  local job, run = before .. id .. after, redis.call('HGET', runs, id)
  if not run or run:find(ARGV[i + 2], 1, true) ~= 1 then
    lost[#lost + 1] = id
  else
    redis.call('ZREM', KEYS[1], id) -- before what a server refuses whose memory is full, unless a script has written already
    local _, _, attempt, crashes, _, reason = read(run)
    local lane, attempts = begin_of(job)
    if verb == 'done' then
      ended[#ended + 1] = job
      forgotten[#forgotten + 1] = id
      if text ~= '' then redis.call('SET', ARGV[9] .. id .. ARGV[10], text, 'PX', ARGV[i + 4]) end
      if ARGV[i + 5] ~= '' and redis.call('GET', ARGV[i + 5]) == id then ended[#ended + 1] = ARGV[i + 5] end
    elseif not lane then -- somebody has deleted the job
      forgotten[#forgotten + 1] = id
    elseif verb == 'back' then
      leave(id, run, math.max(attempt - 1, 0), crashes, reason)
      back(id, lane)
    elseif verb == 'retry' and attempt < (attempts > 0 and attempts or tonumber(ARGV[12])) then
      leave(id, run, attempt, crashes, text)
      redis.call('ZADD', KEYS[2], string.format('%.0f', now + tonumber(ARGV[i + 4])), id)
      keep(KEYS[2])
    else
      bury(id, job, run, attempt, crashes, text)
    end
  end
end
if #over > 0 then redis.call('ZREM', KEYS[1], unpack(over)) end
if #ended > 0 then redis.call('UNLINK', unpack(ended)) end
drop()

local due = -1
if ARGV[4] == 'tidy' then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], '-inf', stamp, 'BYSCORE', 'LIMIT', 0, 100)) do
    redis.call('ZREM', KEYS[2], id)
    local lane = begin_of(before .. id .. after)
    if lane then
      redis.call('RPUSH', lane_of(lane), id)
      keep(lane_of(lane))
      woken = true
    else
      forgotten[#forgotten + 1] = id
    end
  end
  for _, id in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', stamp, 'BYSCORE', 'LIMIT', 0, 100)) do
    redis.call('ZREM', KEYS[1], id)
    local job, run = before .. id .. after, redis.call('HGET', runs, id) or ''
    local lane = begin_of(job)
    if lane then
      if run == '' then run = '- ' .. stamp .. ' 0 0 0\n\n' end -- it is not known any more: a fence that is larger for certain
      local _, _, attempt, crashes, _, reason = read(run)
      attempt, crashes = math.max(attempt - 1, 0), crashes + 1
      if crashes >= tonumber(ARGV[5]) then
        bury(id, job, run, attempt, crashes, 'its workers died ' .. crashes .. ' times')
      else
        leave(id, run, attempt, crashes, reason)
        back(id, lane)
      end
    else
      forgotten[#forgotten + 1] = id
    end
  end
  -- What is known of jobs that are gone with the place they were in.
  for _, id in ipairs(redis.call('HRANDFIELD', runs, 10)) do
    if redis.call('EXISTS', before .. id .. after) == 0 and not redis.call('ZSCORE', KEYS[1], id) then forgotten[#forgotten + 1] = id end
  end
  for _, key in ipairs({ KEYS[1], KEYS[2] }) do
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if first then
      local ms = math.max(tonumber(first) - now, 0)
      if due < 0 or ms < due then due = ms end
    end
  end
end

drop()
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
local ids, jobs, tried, leased, held, got, taken = {}, {}, {}, {}, {}, 0, {}
local ends = string.format('%.0f', now + tonumber(ARGV[3]))
local fresh = ARGV[1] .. ' 1 1 0 0\n\n'
for number in ARGV[15]:gmatch('%d') do
  while got < wanted do
    local popped = redis.call('LPOP', lane_of(number), wanted - got)
    if not popped then break end
    local names = {}
    for n, id in ipairs(popped) do names[n] = before .. id .. after end
    local texts, known = redis.call('MGET', unpack(names)), redis.call('HMGET', runs, unpack(popped))
    for n, id in ipairs(popped) do
      local run = known[n]
      if not texts[n] then -- its TTL ran out, or somebody has deleted it: its id means nothing
        if run then forgotten[#forgotten + 1] = id end
      elseif not taken[id] and not (run and run:sub(1, 2) ~= '- ' and redis.call('ZSCORE', KEYS[1], id)) then -- else it is being worked on: its id was there twice
        got, taken[id] = got + 1, true
        ids[got], jobs[got] = id, texts[n]
        if run then
          local _, claims, attempt, crashes, cancelled, reason, progress = read(run)
          run = string.format('%s %.0f %.0f %.0f %s\n', ARGV[1], claims + 1, attempt + 1, crashes, cancelled) .. reason .. '\n' .. progress
          local o = #tried
          tried[o + 1], tried[o + 2], tried[o + 3], tried[o + 4] = got, attempt + 1, claims + 1, crashes
        end
        leased[2 * got - 1], leased[2 * got] = ends, id
        held[2 * got - 1], held[2 * got] = id, run or fresh
      end
    end
    drop()
  end
end
if got > 0 then
  redis.call('HSET', runs, unpack(held))
  keep(runs)
  redis.call('ZADD', KEYS[1], unpack(leased))
  keep(KEYS[1])
  if gap > 0 then
    redis.call('HSET', KEYS[4], 'tat', string.format('%.0f', tat + got * gap))
    keep(KEYS[4])
  end
end
if woken and got < wanted then woken = false end -- all of it is in my hands
if woken then redis.call('PUBLISH', ARGV[16], 'ready') end
return { due, lost, ids, jobs, tried, state[1] or '', dead }
