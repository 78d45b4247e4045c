-- gcra: let n through if the generic cell rate algorithm allows it
-- KEYS: 1 the limit: its theoretical arrival time, in us since 1970
-- ARGV: 1 n, 0 to look only  2 us per one  3 us that may be ahead (burst)  4 greatest TTL in ms, 0 for any
-- Returns: allowed (1 or 0), remaining, us until n would pass, us until all is free again
-- Round trips: 1
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local n, each, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local arrival = tonumber(redis.call('GET', KEYS[1]) or 0)
-- a clock that went back, by a failover to another machine, costs one burst and no more
arrival = math.min(math.max(arrival, now), now + most)
local after = arrival + math.max(n, 1) * each
local over = after - now - most
if over <= 0 and n > 0 then
  local ttl, bound = math.ceil((after - now) / 1000) + 1, tonumber(ARGV[4])
  if bound > 0 then ttl = math.min(ttl, bound) end
  redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', ttl)
  arrival = after
end
return {over <= 0 and 1 or 0, math.floor((most - (arrival - now)) / each), math.max(over, 0), arrival - now}
