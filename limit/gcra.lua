-- gcra: lets n through if the generic cell rate algorithm allows it.
-- KEYS[1] limit: g1: and its theoretical arrival time, in µs since 1970
-- ARGV[1] n: 0 to look only
-- ARGV[2] each: µs per one
-- ARGV[3] burst: µs that may be ahead
-- ARGV[4] ttl: the greatest in ms
-- Returns: {1 allowed or 0, remaining, µs until n would pass, µs until all is free again}
-- Bound: O(1)
-- Round trips: 1
-- include: time
local _, now = clock()
local ahead = 0
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
