-- hand: what scripts share that hand a lock on. It is no script of its own.
-- KEYS[1] main, KEYS[2] fence, KEYS[3] waiters, KEYS[4] shared
-- ARGV[8] TTL of fence, waiters and shared in ms
-- Returns nothing
-- Round trips: none.
local function micros_of(t) return t[1] .. string.format('%06d', t[2]) end
local function millis_of(t) return t[1] * 1000 + math.floor(t[2] / 1000) end

-- The next fencing token: never below the clock, never twice, also when a
-- failover has brought back an old one.
local function next_fence(micros)
  local last = redis.call('SET', KEYS[2], micros, 'PX', ARGV[8], 'GET')
  if last and tonumber(last) >= tonumber(micros) then
    micros = string.format('%.0f', tonumber(last) + 1)
    redis.call('SET', KEYS[2], micros, 'PX', ARGV[8])
  end
  return micros
end

local function mine(kind, token, millis)
  if kind == 'x' then return redis.call('GET', KEYS[1]) == token end
  local ends = redis.call('ZSCORE', KEYS[4], token)
  return ends and tonumber(ends) > millis
end

local function hold(kind, token, millis, lease)
  if kind == 'x' then
    redis.call('SET', KEYS[1], token, 'PX', lease)
  else
    redis.call('ZADD', KEYS[4], millis + lease, token)
    redis.call('PEXPIRE', KEYS[4], math.max(tonumber(lease), redis.call('PTTL', KEYS[4])))
  end
end

local function renew(kind, token, millis, lease)
  if kind == 'x' then
    redis.call('PEXPIRE', KEYS[1], lease)
  else
    hold(kind, token, millis, lease)
  end
  redis.call('PEXPIRE', KEYS[2], ARGV[8])
end

-- Expired holders together must have been removed before.
local function free(kind)
  return redis.call('EXISTS', KEYS[1]) == 0 and (kind == 's' or redis.call('EXISTS', KEYS[4]) == 0)
end

-- How long the holders' leases last: the longest of those who share it.
local function left(millis)
  local ms = redis.call('PTTL', KEYS[1])
  local last = ms < 0 and redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')
  return last and last[2] and last[2] - millis or ms
end

local function give(kind, token, lease, micros, millis)
  hold(kind, token, millis, lease)
  return next_fence(micros)
end

-- Hands the lock to who waits at the front, and to all that can share it with
-- him. Others than me get a short claim, which their first renewal makes a
-- lease: one that is dead costs a claim. Returns my fencing token if I am served.
local function serve(channel, claim, micros, millis, me, lease)
  local fence = false
  for _ = 1, 64 do
    local head = redis.call('LINDEX', KEYS[3], 0)
    if not head then return fence end
    local kind, token = head:sub(1, 1), head:sub(2)
    if not free(kind) then return fence end
    redis.call('LPOP', KEYS[3])
    if head == me then
      fence = give(kind, token, lease, micros, millis)
    else
      local f = give(kind, token, claim, micros, millis)
      redis.call('PUBLISH', channel, 'granted ' .. token .. ' ' .. f .. ' ' .. micros .. ' ' .. claim)
    end
    if kind == 'x' then return fence end
  end
  return fence
end
