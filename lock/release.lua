-- release: gives a lock back, or a place in the queue, and hands the lock on.
-- KEYS[1] main, KEYS[2] fence, KEYS[3] waiters, KEYS[4] shared
-- ARGV[1] token, ARGV[2] "" or the place that joins the queue in my stead: kind, claim in ms, a blank, token
-- ARGV[3] "x" alone or "s" together with others, ARGV[4] "hold" or "wait": what is given back,
-- ARGV[5] "fair" or "fast", ARGV[6] channel, ARGV[7] my claim in ms, ARGV[8] TTL of fence, waiters and shared in ms,
-- ARGV[9] "announce": tell the channel also if none waits, ARGV[10] if given: not the common case
-- Returns {1 if it was held, else 0, 0, ms until the lease of the next holder ends, server time in µs},
-- or {2, 0, 0, 0}: nothing has changed, and it is not the common case
-- Round trips: 1. O(log(waiters) + log(holders together)).
local main, token, kind, next = KEYS[1], ARGV[1], ARGV[3], ARGV[2]

-- The common case first: it is held alone, and so is it by the next one.
local texts = redis.call('MGET', main, KEYS[2])
local last = texts[2] and string.find(texts[2], '^%d+$') and tonumber(texts[2])
if not ARGV[10] and kind == 'x' and texts[1] == token and last and last < 2 ^ 53 and ARGV[4] == 'hold' and ARGV[5] == 'fair' then
  local t = redis.call('TIME')
  local now = t[1] .. string.format('%06d', t[2])
  local back = last >= tonumber(now) -- the clock was put back
  local member
  if next == '' then
    local head = redis.pcall('ZRANGE', KEYS[3], 0, 0)
    if #head == 0 and not head.err then
      redis.call('DEL', main)
      if ARGV[9] == 'announce' then redis.pcall('PUBLISH', ARGV[6], 'released') end
      return {1, 0, 0, 0}
    end
    member = head[1] or ''
  else
    local score = now
    local tail = back and redis.pcall('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
    if tail and tail[2] and tonumber(tail[2]) >= tonumber(now) then score = string.format('%.0f', tail[2] + 1) end
    local added = redis.pcall('ZADD', KEYS[3], 'NX', score, next) -- refused on a server without memory: see below
    member = ''
    if added == 1 then
      local head = redis.call('ZPOPMIN', KEYS[3])
      member = head[1]
      if not string.find(member, '^x[1-9]%d?%d?%d?%d?%d?%d?%d?%d?%d?%d? .') then -- a reader, or of a newer program: all is as it was
        redis.call('ZADD', KEYS[3], head[2], member)
        redis.call('ZREM', KEYS[3], next)
        return {2, 0, 0, 0}
      end
    end
  end
  local claim, to = string.match(member, '^x([1-9]%d*) (.+)$')
  if claim and #claim <= 11 then
    if next == '' then redis.call('ZREM', KEYS[3], member) end
    local fence = now
    if back then fence = string.format('%.0f', last + 1) end
    redis.call('SET', main, to, 'PX', claim)
    redis.call('SET', KEYS[2], fence, 'PX', ARGV[8])
    if string.sub(now, -2) == '00' then redis.call('PEXPIRE', KEYS[3], ARGV[8]) end -- now and then: a queue may never be empty
    redis.pcall('PUBLISH', ARGV[6], 'granted ' .. to .. ' ' .. fence .. ' ' .. now .. ' ' .. claim)
    return {1, 0, claim, now}
  end
end
--include hand.lua
local micros, millis = clock()
local holder = read('GET', main)
last = last_fence(read('GET', KEYS[2]))
local first = first_waiter()
local held = 0
if kind == 'x' then
  if holder == token then held = 1 end
else
  held = read('ZSCORE', KEYS[4], token) and 1 or 0
end
local sharing, over = shared_until(millis)
if next ~= '' or ARGV[5] == 'fast' then last_waiter() end

-- First what needs no memory.
if ARGV[4] == 'wait' then redis.call('ZREM', KEYS[3], kind .. ARGV[7] .. ' ' .. token) end
if held == 1 then
  if kind == 'x' then
    redis.call('DEL', main)
    holder = false
  else
    redis.call('ZREM', KEYS[4], token)
    sharing = shared_until(millis)
  end
end
if next ~= '' and (held == 1 or ARGV[4] == 'wait') then join(next, micros) end
if held == 0 then return {0, 0, redis.call('PTTL', main), 0} end

first = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
if not first then
  if ARGV[9] == 'announce' then redis.pcall('PUBLISH', ARGV[6], 'released') end
  return {1, 0, 0, 0}
end
if ARGV[5] == 'fast' then
  redis.call('ZREM', KEYS[3], first) -- to the end: it may be dead
  join(first, micros)
  redis.pcall('PUBLISH', ARGV[6], 'free ' .. string.match(first, ' (.+)$'))
  return {1, 0, 0, 0}
end
if holder then return {1, 0, redis.call('PTTL', main), micros} end
if over or sharing > 0 then clear(millis, over) end
local _, ends = serve(ARGV[6], micros, millis, '', 0, last, sharing)
return {1, 0, ends > 0 and ends - millis or -2, micros}
