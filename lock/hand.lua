-- hand: what scripts share that hand a lock on.
-- Its scripts have KEYS[1] main, KEYS[2] fence, KEYS[3] waiters, KEYS[4] shared, and in `keep` the TTL of fence, waiters
-- and shared in ms.
-- Part.
-- include: look

-- A place among the waiters is its kind, its claim in ms, a blank and its token.
-- Anything else is of a newer program.
local function place_of(member)
  local kind, claim, token = string.match(member, '^([xs])([1-9]%d*) (.+)$')
  if kind and #claim <= 11 then return kind, claim, token end
end

local function known(member)
  if member and not place_of(member) then
    error({err = 'ERR the key ' .. KEYS[3] .. ' has a place of a form that this program does not know: a newer one wrote it'})
  end
  return member
end

local function first_waiter()
  return known(read('ZRANGE', KEYS[3], 0, 0)[1])
end

-- The last waiter, after which others join: to be looked at before the first write.
local function last_waiter()
  local last = read('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
  known(last[1])
  return last
end

-- When the last of those who share it loses it, 0 if none does. To be read
-- before the first write.
local function shared_until(millis)
  local ends = tonumber(read('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')[2] or 0)
  return ends > millis and ends or 0, ends > 0 and ends <= millis
end

-- Writes the next fencing token.
local function next_fence(last, micros)
  local fence = fence_after(last, micros)
  redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', keep)
  return fence
end

local function keep_shared(lease)
  redis.call('PEXPIRE', KEYS[4], math.max(tonumber(keep), tonumber(lease), redis.call('PTTL', KEYS[4])))
end

local function hold(kind, token, millis, lease)
  if kind == 'x' then
    redis.call('SET', KEYS[1], token, 'PX', lease)
  else
    redis.call('ZADD', KEYS[4], millis + lease, token)
    keep_shared(lease)
  end
end

-- Takes some of those out whose leases are over, all if none shares it.
local function clear(millis, all)
  if all then
    redis.call('UNLINK', KEYS[4])
  else
    local over = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', millis, 'LIMIT', 0, 64)
    if #over > 0 then redis.call('ZREM', KEYS[4], unpack(over)) end
  end
end

-- Joins the queue, after all others, also if the clock was put back.
local function join(member, micros, last)
  last = last or redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
  redis.call('ZADD', KEYS[3], string.format('%.0f', fence_after(tonumber(last[2] or 0), micros)), member)
  if not last[1] then redis.call('PEXPIRE', KEYS[3], keep) end
end

-- Hands a lock that none holds alone to the first waiter, and to all readers
-- next to it. Others than me get their claim, which their first renewal makes a
-- lease: one that is dead costs a claim. Returns my fencing token, if I am
-- served, and until when the lock is held now, 0 if it is free.
local function serve(channel, micros, millis, me, lease, last, sharing)
  local mine = false
  for _ = 1, 64 do
    local head = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
    if not head then break end
    local kind, claim, token = place_of(head)
    if not kind or kind == 'x' and sharing > 0 then break end
    redis.call('ZREM', KEYS[3], head)
    local own = head == me
    local lasts = own and lease or claim
    hold(kind, token, millis, lasts)
    last = next_fence(last, micros)
    sharing = math.max(sharing, millis + lasts)
    if own then
      mine = last
    else
      redis.pcall('PUBLISH', channel, string.format('granted %s %.0f %.0f %s', token, last, micros, claim))
    end
    if kind == 'x' then break end
  end
  return mine, sharing
end
