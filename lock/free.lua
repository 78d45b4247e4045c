-- free: takes a lock that nobody holds and nobody waits for, alone; the common case of acquire.
-- KEYS[1] main, KEYS[2] fence, KEYS[3] waiters, KEYS[4] shared
-- ARGV[1] token, ARGV[2] lease in ms, ARGV[3] TTL of fence in ms
-- Returns the fencing token, or 0 if acquire is to be asked
-- Round trips: 1. O(1).
if redis.call('EXISTS', KEYS[3], KEYS[4]) > 0 or not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local last = redis.call('SET', KEYS[2], now, 'PX', ARGV[3], 'GET')
if last and tonumber(last) >= tonumber(now) then
  now = tonumber(last) + 1
  redis.call('SET', KEYS[2], now, 'PX', ARGV[3])
end
return now
