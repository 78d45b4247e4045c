-- release: gives a lock back, or a place in the queue, and hands the lock on.
-- KEYS[1] main, KEYS[2] fence, KEYS[3] waiters, KEYS[4] shared
-- ARGV[1] token, ARGV[2] "" or the place that joins the queue in my stead: kind, claim in ms, a blank, token
-- ARGV[3] "x" alone or "s" together with others, ARGV[4] "hold" or "wait": what is given back,
-- ARGV[5] "fair" or "fast", ARGV[6] channel, ARGV[7] my claim in ms, ARGV[8] TTL of fence, waiters and shared in ms,
-- ARGV[9] "announce": tell the channel also if nobody waits
-- Returns {1 if it was held, else 0, 0, ms until the lease of the next holder ends, server time in µs}
-- Round trips: 1. O(log(waiters) + log(holders together)).
local main, token, kind, next = KEYS[1], ARGV[1], ARGV[3], ARGV[2]

-- The common case first: it is held alone, and so is it by the next one. Nothing
-- is looked at twice, and nothing that can fail comes behind the first write.
local texts = redis.call('MGET', main, KEYS[2])
if kind == 'x' and texts[1] == token and texts[2] and ARGV[4] == 'hold' and ARGV[5] == 'fair' then
  local two = redis.pcall('ZRANGE', KEYS[3], 0, 1)
  if #two == 0 and not two.err and next == '' then
    redis.call('DEL', main)
    if ARGV[9] == 'announce' then redis.pcall('PUBLISH', ARGV[6], 'released') end
    return {1, 0, 0, 0}
  end
  local member = not two.err and (two[1] or next) or ''
  local claim, to = string.match(member, '^x([1-9]%d*) (.+)$')
  local last = tonumber(texts[2])
  if claim and #claim <= 11 and last and last < 2 ^ 53 and string.find(texts[2], '^%d+$') then
    local t = redis.call('TIME')
    local now = t[1] .. string.format('%06d', t[2])
    local fence = now
    if last >= tonumber(now) then fence = string.format('%.0f', last + 1) end
    if two[1] then
      redis.call('ZREM', KEYS[3], member)
      if next ~= '' then
        local score = now
        if last >= tonumber(now) then -- the clock was put back
          local tail = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2]
          if tail and tonumber(tail) >= tonumber(now) then score = string.format('%.0f', tail + 1) end
        end
        redis.call('ZADD', KEYS[3], score, next)
        if not two[2] then redis.call('PEXPIRE', KEYS[3], ARGV[8]) end
      end
    else
      redis.call('PEXPIRE', main, claim) -- behind it a server without memory takes the rest
    end
    redis.call('SET', main, to, 'PX', claim)
    redis.call('SET', KEYS[2], fence, 'PX', ARGV[8])
    redis.pcall('PUBLISH', ARGV[6], 'granted ' .. to .. ' ' .. fence .. ' ' .. now .. ' ' .. claim)
    return {1, 0, claim, now}
  end
end
--include hand.lua
local micros, millis = clock()
local holder = read('GET', main)
local last = last_fence(read('GET', KEYS[2]))
local first = first_waiter()
local held = 0
if kind == 'x' then
  if holder == token then held = 1 end
else
  held = read('ZSCORE', KEYS[4], token) and 1 or 0
end
local sharing, over = shared_until(millis)

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
