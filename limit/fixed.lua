-- fixed: lets n through if the window that the first one opened has room.
-- KEYS[1] limit: how many passed in this window, as digits; its TTL is the end of the window
-- ARGV[1] n: 0 to look only
-- ARGV[2] limit
-- ARGV[3] window: in ms
-- Returns: {1 allowed or 0, remaining, µs until n would pass, µs until all is free again}
-- Bound: O(1)
-- Round trips: 1
local have, left = redis.call('GET', KEYS[1]) or '0', redis.call('PTTL', KEYS[1])
if not string.find(have, '^%d+$') or #have > 19 then
  return redis.error_reply('FORM of another rule or a newer program (key ' .. KEYS[1] .. ')')
end

if left >= 0 then left = left + 1 end -- a key is gone when the last millisecond of its TTL is over

-- halves are a number of 64 bits in two that a Lua number holds: high * 10^10 + low
local function halves(digits)
  return tonumber(string.sub(digits, 1, -11)) or 0, tonumber(string.sub(digits, -10))
end
local high, low = halves(have)
local limitHigh, limitLow = halves(ARGV[2])
local roomHigh, roomLow = limitHigh - high, limitLow - low
if roomLow < 0 then roomHigh, roomLow = roomHigh - 1, roomLow + 1e10 end
-- fits is whether the room is at least so much
local function fits(n)
  local nHigh, nLow = halves(n)
  return roomHigh > nHigh or roomHigh == nHigh and roomLow >= nLow
end
local function reply(allowed, wait)
  local room = '0'
  if roomHigh > 0 then
    room = string.format('%.0f%010.0f', roomHigh, roomLow)
  elseif roomHigh == 0 then
    room = string.format('%.0f', roomLow)
  end
  local ms = string.format('%.0f000', math.max(wait, 0))
  return {allowed and '1' or '0', room, allowed and '0' or ms, ms}
end

local asks = ARGV[1] ~= '0'
local allowed = fits(asks and ARGV[1] or '1')
if not asks then
  return reply(allowed, left)
end
if allowed then
  local nHigh, nLow = halves(ARGV[1])
  roomHigh, roomLow = roomHigh - nHigh, roomLow - nLow
  if roomLow < 0 then roomHigh, roomLow = roomHigh - 1, roomLow + 1e10 end
  redis.call('INCRBY', KEYS[1], ARGV[1])
end
-- new, or a caller made it permanent, or the clock was put back
if (left < 0 or left > tonumber(ARGV[3])) and (allowed or have ~= '0') then
  redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[3]) - 1, 1))
  left = tonumber(ARGV[3])
end
return reply(allowed, left)
