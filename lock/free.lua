-- free: takes locks that none holds and none waits for, alone; the common case of acquire, for many at once.
-- KEYS four per lock: main, fence, waiters, shared
-- ARGV[1] number of locks, then three per lock: token, lease in ms, TTL of fence in ms
-- Returns per lock the fencing token, or 0 if acquire is to be asked, or an error
-- Round trips: 1. O(locks).
local call, KEYS, ARGV = redis.call, KEYS, ARGV
local out, last = {}, {}
local n = tonumber(ARGV[1])
for i = 1, n do
  local k = i * 4
  if call('EXISTS', KEYS[k - 3], KEYS[k - 1], KEYS[k]) == 0 then
    last[i] = redis.pcall('GET', KEYS[k - 2]) -- false if there is none
  end
end
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
local stamp = string.format('%.0f', now) -- once for all: it is half of what a command costs
for i = 1, n do
  local k, a, before = i * 4, i * 3, last[i]
  local fence, text = now, stamp
  if type(before) == 'string' then
    local old = string.find(before, '^%d+$') and tonumber(before) or 2 ^ 53
    if old >= now then fence, text = old + 1, string.format('%.0f', old + 1) end
  end
  out[i] = 0
  if before ~= nil and type(before) ~= 'table' and fence < 2 ^ 53 then
    local set = redis.pcall('SET', KEYS[k - 3], ARGV[a - 1], 'NX', 'PX', ARGV[a])
    if set and set.ok then
      call('SET', KEYS[k - 2], text, 'PX', ARGV[a + 1])
      out[i] = fence
    elseif set then
      out[i] = set
    end
  end
end
return out
