-- acquire: takes a lock, or a place in the queue of its waiters.
-- KEYS[1] main
-- KEYS[2] fence
-- KEYS[3] waiters
-- KEYS[4] shared
-- ARGV[1] token
-- ARGV[2] lease: in ms
-- ARGV[3] kind: "x" alone or "s" together with others
-- ARGV[4] how: "try" once, "wait" in the queue, or "again": it may be in the queue already
-- ARGV[5] mode: "fair" or "fast"
-- ARGV[6] channel
-- ARGV[7] claim: in ms
-- ARGV[8] keep: TTL of fence, waiters and shared in ms
-- Returns: {1, fence, lease in ms, server time in µs} or {0, 0, ms until the holder's lease ends, server time in µs}
-- Bound: O(log(waiters) + log(holders together)), 64 waiters that are served
-- Round trips: 1
-- include: hand
local main = KEYS[1]
local me = kind .. claim .. ' ' .. token
local millis, micros = clock()
local holder = read('GET', main)

-- Another one's: a place in the queue, if I have none.
if holder and holder ~= token then
  local ms = redis.call('PTTL', main)
  if how == 'try' then return {0, 0, ms, 0} end
  local since = how == 'again' and read('ZSCORE', KEYS[3], me)
  if not since then
    join(me, micros, last_waiter())
  elseif micros - since > 60000000 then -- the queue lives as long as a caller waits
    redis.call('PEXPIRE', KEYS[3], keep)
  end
  return {0, 0, ms, micros}
end

-- Held by me already: a reply was lost, or a release has handed it to me.
local last = last_fence()
local sharing, over = shared_until(millis)
if holder then
  if kind == 's' then return {0, 0, redis.call('PTTL', main), micros} end
  redis.call('PEXPIRE', main, lease)
  redis.call('PEXPIRE', KEYS[2], keep)
  return {1, last, lease, micros}
end
local ends = kind == 's' and redis.call('ZSCORE', KEYS[4], token)
if ends and tonumber(ends) > millis then
  keep_shared(lease) -- first: after it a server without memory takes the rest
  redis.call('ZADD', KEYS[4], millis + lease, token)
  redis.call('PEXPIRE', KEYS[2], keep)
  return {1, last, lease, micros}
end

local head = first_waiter()
local queued = how == 'again' and redis.call('ZSCORE', KEYS[3], me)
local free = kind == 's' or sharing == 0
local joins = how ~= 'try' and not queued and (mode ~= 'fast' and head or not free)
if joins then last_waiter() end
if over or sharing > 0 then clear(millis, over) end
if (mode == 'fast' or not head) and free then
  if queued then redis.call('ZREM', KEYS[3], me) end
  hold(kind, token, millis, lease)
  return {1, next_fence(last, micros), lease, micros}
end
if joins then join(me, micros) end
local fence
if mode == 'fair' then
  fence, sharing = serve(channel, micros, millis, me, lease, last, sharing)
  if fence then return {1, fence, lease, micros} end
end
return {0, 0, sharing > 0 and sharing - millis or -2, micros}
