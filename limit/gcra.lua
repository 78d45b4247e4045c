-- gcra: let n through if the generic cell rate algorithm allows it
-- KEYS: 1 the limit: g1: and its theoretical arrival time, in us since 1970
-- ARGV: 1 n, 0 to look only  2 us per one  3 us that may be ahead (burst)  4 greatest TTL in ms
-- Returns: allowed (1 or 0), remaining, us until n would pass, us until all is free again
-- Round trips: 1
local time = redis.call('TIME')
local now, ahead = time[1] * 1000000 + time[2], 0
local n, each, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local state = redis.call('GET', KEYS[1])
local back = false
if state then
  local arrival = string.match(state, '^g1:(%d+)$')
  if not arrival then
    return redis.error_reply('FORM of another rule or a newer program (key ' .. KEYS[1] .. ')')
  end
  ahead = arrival - now
  -- the past is no credit
  if ahead < 0 then ahead = 0 end
  -- a clock that went back, also by a failover to another machine, costs one burst and
  -- no more: that is written, else everybody waits until the clock has caught up
  back = ahead > most
  if back then ahead = most end
end
local after = ahead + (n > 0 and n or 1) * each
local over = after - most
if n > 0 and over <= 0 then ahead = after end
if n > 0 and (over <= 0 or back) then
  local ttl, bound = (ahead - ahead % 1000) / 1000 + 2, tonumber(ARGV[4])
  if ttl > bound then ttl = bound end
  redis.call('SET', KEYS[1], 'g1:' .. string.format('%.0f', now + ahead), 'PX', ttl)
end
return {over > 0 and 0 or 1, (most - ahead - (most - ahead) % each) / each, over > 0 and over or 0, ahead}
