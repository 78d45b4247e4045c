-- release: gives a lock back, or a place in the queue, and hands the lock on.
-- KEYS[1] main, KEYS[2] fence, KEYS[3] waiters, KEYS[4] shared
-- ARGV[1] token, ARGV[2] "" or the token of who joins the queue in my stead,
-- ARGV[3] "x" alone or "s" together with others, ARGV[4] "hold" or "wait": what is given back,
-- ARGV[5] "fair" or "fast", ARGV[6] channel, ARGV[7] claim in ms, ARGV[8] TTL of fence, waiters and shared in ms,
-- ARGV[9] "announce": tell the channel also if nobody waits
-- Returns {1 if it was held, else 0, 0, ms until the lease of the next holder ends, server time in µs}
-- Round trips: 1. O(1), with "wait" O(waiters).
local main, token, kind = KEYS[1], ARGV[1], ARGV[3]
local held = 0
if kind == 'x' then
  if redis.call('GET', main) == token then held = 1 end
else
  held = redis.call('ZREM', KEYS[4], token)
end
if ARGV[4] == 'wait' then redis.call('LREM', KEYS[3], 0, kind .. token) end
if ARGV[2] ~= '' and (held == 1 or ARGV[4] == 'wait') then
  if redis.call('RPUSH', KEYS[3], 'x' .. ARGV[2]) == 1 then redis.call('PEXPIRE', KEYS[3], ARGV[8]) end
end
if held == 0 then return {0, 0, redis.call('PTTL', main), 0} end

-- The common case first: somebody waits to hold it alone.
local head = redis.call('LPOP', KEYS[3])
if head and kind == 'x' and ARGV[5] == 'fair' and head:sub(1, 1) == 'x' then
  local next, t = head:sub(2), redis.call('TIME')
  local now = t[1] .. string.format('%06d', t[2])
  redis.call('SET', main, next, 'PX', ARGV[7])
  local fence, last = now, redis.call('SET', KEYS[2], now, 'PX', ARGV[8], 'GET')
  if last and tonumber(last) >= tonumber(now) then
    fence = string.format('%.0f', tonumber(last) + 1)
    redis.call('SET', KEYS[2], fence, 'PX', ARGV[8])
  end
  redis.call('PUBLISH', ARGV[6], 'granted ' .. next .. ' ' .. fence .. ' ' .. now .. ' ' .. ARGV[7])
  return {1, 0, ARGV[7], now}
end
if kind == 'x' then redis.call('DEL', main) end
if not head then
  if ARGV[9] == 'announce' then redis.call('PUBLISH', ARGV[6], 'released') end
  return {1, 0, 0, 0}
end
if ARGV[5] == 'fast' then
  redis.call('RPUSH', KEYS[3], head)
  redis.call('PEXPIRE', KEYS[3], ARGV[8])
  redis.call('PUBLISH', ARGV[6], 'free ' .. head:sub(2))
  return {1, 0, 0, 0}
end
redis.call('LPUSH', KEYS[3], head)
redis.call('PEXPIRE', KEYS[3], ARGV[8])
--include hand.lua
local t = redis.call('TIME')
local micros, millis = micros_of(t), millis_of(t)
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', millis)
serve(ARGV[6], ARGV[7], micros, millis, '', 0)
return {1, 0, left(millis), micros}
