-- fixed: let n through if the window that the first one opened has room
-- KEYS: 1 the limit: how many passed in this window; its TTL is the end of the window
-- ARGV: 1 n, 0 to look only  2 limit  3 window in ms
-- Returns: allowed (1 or 0), remaining, us until n would pass, us until all is free again
-- Round trips: 1
local n, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local count, left = tonumber(redis.call('GET', KEYS[1]) or 0), redis.call('PTTL', KEYS[1])
local fits = count + math.max(n, 1) <= limit
if fits and n > 0 then
  count = redis.call('INCRBY', KEYS[1], n)
end
-- new, or somebody made it permanent, or the clock was put back
if (left < 0 or left > tonumber(ARGV[3])) and n > 0 and count > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  left = tonumber(ARGV[3])
end
left = math.max(left, 0) * 1000
return {fits and 1 or 0, math.max(limit - count, 0), fits and 0 or left, left}
