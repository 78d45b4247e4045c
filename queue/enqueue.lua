-- enqueue: puts jobs into their lanes, or among the delayed ones.
-- KEYS[1] delayed
-- KEYS[2] runs
-- KEYS[3] leases
-- KEYS[4] dead
-- KEYS[5] state
-- KEYS[6…] key: the lanes, after them two per job: the job, and its unique name (or the job again)
-- ARGV[1] lanes: how many
-- ARGV[2] ttl: of the queue's keys in ms (0: none)
-- ARGV[3] channel
-- ARGV[4] database: its number
-- ARGV[5] before: the key of a job before its id
-- ARGV[6] after: and after it
-- ARGV[7] result_before: that of a result
-- ARGV[8] result_after
-- ARGV[9] lane_names: each with a space after it
-- ARGV[10] clustered: "cluster" in one
-- ARGV[11…] id, lane, payload, when, window, attempts, request: of a job: its id, the number of its lane, its payload,
--   when ("" now, "+ms" from now, or the time in ms), how long its unique name is taken ("" it has none, 0 until it is
--   done, else ms), attempts (0 as the queue says), the request ("" the id is new for certain)
-- Returns: per job "" if it is there now, "=" and the id of the one that is there instead, or what is wrong with one of
--   its keys
-- Bound: O(jobs)
-- Round trips: 1
-- include: time
-- include: look
-- include: known
-- include: count
local now = clock()
local stamp = string.format('%.0f', now)
local delayed, runs, leases, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local lanes, ttl = tonumber(lanes), tonumber(ttl)
local names = {}
for name in lane_names:gmatch('(%S+) ') do names[#names + 1] = name end

-- What is to be read is read first. What is wrong with a key of one job harms no other one.
if clustered ~= '' then steady(before, after) end
local lengths = {}
local function length(command, key)
  if lengths[key] == nil then lengths[key] = look(redis.pcall(command, key), key) end
  return lengths[key]
end
local function wrong(reply, key)
  local n = #faults
  mind(reply, key)
  return #faults > n and faults[#faults]
end

-- Whose a unique name is; nil when it is free: no job has it, or the job that had it is gone.
local new = {}
local function holder(key, forever)
  local reply = redis.pcall('GET', key)
  local fault = wrong(reply, key)
  if fault or not reply then return nil, fault end
  local job = before .. reply .. after
  if forever and not new[job] and redis.call('EXISTS', job) == 0 then return nil end
  return reply
end

local out, jobs, taken = {}, {}, {}
local function plan(n, i)
  local id, lane, at, window, request = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 3], ARGV[i + 4], ARGV[i + 6]
  local job, name = KEYS[6 + lanes + 2 * n], KEYS[7 + lanes + 2 * n]
  local line = string.format('q1 %s %s %s %s ', stamp, names[lane], ARGV[i + 5], request == '' and '-' or request)
  if new[job] then return '=' .. id end
  local there = redis.pcall('GETRANGE', job, 0, 255)
  local fault = wrong(there, job)
  if fault then return fault end
  if there ~= '' then -- this very request was here before, and its reply was lost; or another job is there
    return (request == '' or there:match('^q1 %d+ %S+ %d+ (%S+) ') == request) and '' or '=' .. id
  end
  if window ~= '' then
    local other = taken[name]
    if not other then other, fault = holder(name, window == '0') end
    if fault then return fault end
    if other and other ~= id then return '=' .. other end
    taken[name] = id
  end
  new[job] = true
  jobs[#jobs + 1] = {
    id = id, key = job, lane = lane, text = line .. (window == '0' and word(name) or '-') .. '\n' .. ARGV[i + 2], request = request,
    name = window ~= '' and name, ms = window == '0' and '604800000' or window,
    due = at ~= '' and (at:sub(1, 1) == '+' and now + tonumber(at:sub(2)) or tonumber(at)) or nil,
  }
  return ''
end
for i = 11, #ARGV, 7 do
  local n = (i - 11) / 7
  out[n + 1] = plan(n, i)
end

-- An earlier job of an id whose key is gone (its TTL ran out, or it was deleted) is over: its worker has lost it, and
-- its fences go on. Its result is gone.
local over, left, results = {}, {}, {}
local asked = {}
for _, j in ipairs(jobs) do
  if j.request ~= '' then asked[#asked + 1] = j.id end
  if j.due then length('ZCARD', delayed) else length('LLEN', KEYS[5 + j.lane]) end
end
if #asked > 0 then
  local found = look(redis.pcall('HMGET', runs, unpack(asked)), runs)
  for n, id in ipairs(asked) do results[n] = result_before .. id .. result_after end
  if look(redis.pcall('EXISTS', unpack(results)), results[1]) == 0 then results = {} end
  for n, id in ipairs(asked) do
    local r = found[n] and known(found[n])
    if r then
      over[#over + 1] = id
      r.attempt, r.crashes, r.doubt, r.cancelled, r.reason, r.progress = 0, 0, 0, false, '', ''
      left[#left + 1] = id
      left[#left + 1] = noted(r, '-')
    end
  end
  if #over > 0 then
    length('ZCARD', leases)
    length('ZCARD', delayed)
    length('ZCARD', dead)
  end
end
local first = lengths[delayed] and look(redis.pcall('ZRANGE', delayed, 0, 0, 'WITHSCORES'), delayed)[2]
local was = counted(KEYS[5])
local sooner, waking = false, false
for _, j in ipairs(jobs) do
  if j.due then
    sooner = sooner or not first or j.due < tonumber(first)
  else
    waking = waking or lengths[KEYS[5 + j.lane]] == 0 -- a sleeper has found all lanes empty
  end
end
if sooner or waking then may(channel) end

-- From here on everything is written. A server whose memory is full refuses the first one, and so all of them.
local pushed, later = {}, {}
for _, j in ipairs(jobs) do
  redis.call('SET', j.key, j.text)
  if ttl > 0 then redis.call('PEXPIRE', j.key, ttl) end
  if j.name then redis.call('SET', j.name, j.id, 'PX', j.ms) end
  if j.due then
    later[#later + 1] = string.format('%.0f', j.due)
    later[#later + 1] = j.id
  else
    local ids = pushed[j.lane]
    if ids then ids[#ids + 1] = j.id else pushed[j.lane] = { j.id } end
  end
end
if #results > 0 then redis.call('UNLINK', unpack(results)) end
if #over > 0 then
  redis.call('ZREM', leases, unpack(over))
  redis.call('ZREM', delayed, unpack(over))
  redis.call('ZREM', dead, unpack(over))
  redis.call('HSET', runs, unpack(left))
end
if #later > 0 then
  redis.call('ZADD', delayed, unpack(later))
  if ttl > 0 then redis.call('PEXPIRE', delayed, ttl) end
  if sooner then redis.call('PUBLISH', channel, 'due ' .. database) end
end
for lane, ids in pairs(pushed) do
  local key = KEYS[5 + lane]
  redis.call('RPUSH', key, unpack(ids))
  if ttl > 0 then redis.call('PEXPIRE', key, ttl) end
end
if #jobs > 0 then count(KEYS[5], was, #jobs, ttl) end
if waking then redis.call('PUBLISH', channel, 'ready ' .. database) end
return out
