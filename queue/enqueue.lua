-- enqueue: puts jobs into their lanes, or among the delayed ones.
-- KEYS[1] delayed, KEYS[2] runs, KEYS[3] leases, KEYS[4] dead, KEYS[5…] the lanes, behind them two per job: the job, and its unique name (or the job again)
-- ARGV[1] number of lanes, ARGV[2] TTL of the queue's keys in ms (0: none), ARGV[3] channel, ARGV[4] and ARGV[5] what stands before and behind the id in the key of a job
-- then seven per job: id, number of its lane, payload, when ("" now, "+ms" from now, or the time in ms), how long its unique name is taken ("" it has none, 0 until it is done, else ms),
-- attempts (0 as the queue says), who asks ("" the id is new for certain)
-- Returns per job "" if it is there now, or the id of the one that is there instead
-- Round trips: 1. O(jobs).
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local stamp = string.format('%.0f', now)
local lanes, ttl = tonumber(ARGV[1]), tonumber(ARGV[2])
local pushed, out, n = {}, {}, 0

-- A name is free when nobody has it, or when the job that had it is gone.
local function taken(key, id, window)
  local forever = window == '0'
  local ms = forever and 604800000 or window
  if redis.call('SET', key, id, 'NX', 'PX', ms) then return false end
  local holder = redis.call('GET', key)
  if holder == id then return false end
  if forever and redis.call('EXISTS', ARGV[4] .. holder .. ARGV[5]) == 0 then
    redis.call('SET', key, id, 'PX', ms)
    return false
  end
  return holder
end

-- An earlier job of this id whose key is gone (its TTL ran out, or somebody has deleted it) is over: who works on it has lost it, and its fences go on.
local function forget(id)
  local claims = (redis.call('HGET', KEYS[2], id) or ''):match('^%S+ (%d+) ')
  if not claims then return end
  redis.call('HSET', KEYS[2], id, '- ' .. claims .. ' 0 0 0\n\n')
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZREM', KEYS[1], id)
  redis.call('LREM', KEYS[4], 0, id)
end

local function escaped(c) return string.format('%%%02x', c:byte()) end

for i = 6, #ARGV, 7 do
  local id, lane, at, window, who = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 3], ARGV[i + 4], ARGV[i + 6]
  local job, name = KEYS[5 + lanes + 2 * n], KEYS[6 + lanes + 2 * n]
  n = n + 1
  local there = who ~= '' and redis.call('GETRANGE', job, 0, 99) or ''
  local other = false
  if there ~= '' then
    other = there:match('^%d+ %d %d+ (%S+) ') == who and '' or id
  elseif window ~= '' then
    other = taken(name, id, window)
  end
  if other then
    out[n] = other
  else
    out[n] = ''
    -- The line of a job: when it was put there, lane, attempts, who asked, its unique name.
    local unique = window == '0' and name:gsub('[%c%s%%]', escaped) or '-'
    local line = string.format('%s %d %s %s %s\n', stamp, lane, ARGV[i + 5], who == '' and '-' or who, unique)
    if redis.call('SETNX', job, line .. ARGV[i + 2]) == 1 then -- else this very request was here before, and its reply was lost
      if ttl > 0 then redis.call('PEXPIRE', job, ttl) end
      if who ~= '' then forget(id) end
      if at == '' then
        local ids = pushed[lane]
        if ids then ids[#ids + 1] = id else pushed[lane] = { id } end
      else
        local due = at:sub(1, 1) == '+' and now + tonumber(at:sub(2)) or tonumber(at)
        redis.call('ZADD', KEYS[1], string.format('%.0f', due), id)
        if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
        if redis.call('ZRANGE', KEYS[1], 0, 0)[1] == id then redis.call('PUBLISH', ARGV[3], 'due') end
      end
    end
  end
end
for lane, ids in pairs(pushed) do
  local length = redis.call('RPUSH', KEYS[4 + lane], unpack(ids))
  if ttl > 0 then redis.call('PEXPIRE', KEYS[4 + lane], ttl) end
  -- Whoever sleeps has found all lanes empty.
  if length == #ids then redis.call('PUBLISH', ARGV[3], 'ready') end
end
return out
