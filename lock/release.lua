-- release: gives a lock back, or a place in the queue, and hands the lock on.
-- KEYS[1] main
-- KEYS[2] fence
-- KEYS[3] waiters
-- KEYS[4] shared
-- ARGV[1] token
-- ARGV[2] next: "" or the place that joins the queue in place of this one: kind, claim in ms, a blank, token
-- ARGV[3] kind: "x" alone or "s" together with others
-- ARGV[4] what: "hold" or "wait": what is given back
-- ARGV[5] mode: "fair" or "fast"
-- ARGV[6] channel
-- ARGV[7] claim: of this process in ms
-- ARGV[8] keep: TTL of fence, waiters and shared in ms
-- ARGV[9] announce: "announce": tell the channel also if none waits
-- ARGV[10]? rare: not the common case
-- Returns: {1 if it was held, else 0, 0, ms until the lease of the next holder ends, server time in µs},
--   or {2, 0, 0, 0}: nothing has changed, and it is not the common case
-- Bound: O(log(waiters) + log(holders together)), 64 waiters that are served
-- Round trips: 1
-- include: time
-- include: fence
local main = KEYS[1]

-- The common case first: it is held alone, and so is it by the next one.
local texts = redis.call('MGET', main, KEYS[2])
local last = texts[2] and fence_in(texts[2])
if not rare and kind == 'x' and texts[1] == token and last and what == 'hold' and mode == 'fair' then
  local _, micros = clock()
  local now = string.format('%.0f', micros)
  local back = last >= micros -- the clock was put back
  local member
  if next == '' then
    local head = redis.pcall('ZRANGE', KEYS[3], 0, 0)
    if #head == 0 and not head.err then
      redis.call('DEL', main)
      if announce == 'announce' then redis.pcall('PUBLISH', channel, 'released') end
      return {1, 0, 0, 0}
    end
    member = head[1] or ''
  else
    local score = now
    local tail = back and redis.pcall('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
    if tail and tail[2] then score = string.format('%.0f', fence_after(tonumber(tail[2]), micros)) end
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
  local theirs, to = string.match(member, '^x([1-9]%d*) (.+)$')
  if theirs and #theirs <= 11 then
    if next == '' then redis.call('ZREM', KEYS[3], member) end
    local fence = back and string.format('%.0f', fence_after(last, micros)) or now
    redis.call('SET', main, to, 'PX', theirs)
    redis.call('SET', KEYS[2], fence, 'PX', keep)
    if string.sub(now, -2) == '00' then redis.call('PEXPIRE', KEYS[3], keep) end -- now and then: a queue may never be empty
    redis.pcall('PUBLISH', channel, 'granted ' .. to .. ' ' .. fence .. ' ' .. now .. ' ' .. theirs)
    return {1, 0, theirs, now}
  end
end
-- include: hand
local millis, micros = clock()
local holder = read('GET', main)
last = last_fence()
local first = first_waiter()
local held = 0
if kind == 'x' then
  if holder == token then held = 1 end
else
  held = read('ZSCORE', KEYS[4], token) and 1 or 0
end
local sharing, over = shared_until(millis)
if next ~= '' or mode == 'fast' then last_waiter() end

-- First what needs no memory.
if what == 'wait' then redis.call('ZREM', KEYS[3], kind .. claim .. ' ' .. token) end
if held == 1 then
  if kind == 'x' then
    redis.call('DEL', main)
    holder = false
  else
    redis.call('ZREM', KEYS[4], token)
    sharing = shared_until(millis)
  end
end
if next ~= '' and (held == 1 or what == 'wait') then join(next, micros) end
if held == 0 then return {0, 0, redis.call('PTTL', main), 0} end

first = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
if not first then
  if announce == 'announce' then redis.pcall('PUBLISH', channel, 'released') end
  return {1, 0, 0, 0}
end
if mode == 'fast' then
  redis.call('ZREM', KEYS[3], first) -- to the end: it may be dead
  join(first, micros)
  redis.pcall('PUBLISH', channel, 'free ' .. string.match(first, ' (.+)$'))
  return {1, 0, 0, 0}
end
if holder then return {1, 0, redis.call('PTTL', main), string.format('%.0f', micros)} end
if over or sharing > 0 then clear(millis, over) end
local _, ends = serve(channel, micros, millis, '', 0, last, sharing)
return {1, 0, ends > 0 and ends - millis or -2, string.format('%.0f', micros)}
