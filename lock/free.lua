-- free: takes locks that nobody holds and nobody waits for, alone; the common case of acquire, for many at once.
-- KEYS four per lock: main, fence, waiters, shared
-- ARGV[1] number of locks, then three per lock: token, lease in ms, TTL of fence in ms
-- Returns per lock the fencing token, or 0 if acquire is to be asked, or an error
-- Round trips: 1. O(locks).
local call, KEYS, ARGV = redis.call, KEYS, ARGV
local out, t = {}, call('TIME')
local now = t[1] * 1000000 + t[2]
local stamp = string.format('%.0f', now) -- once for all: it is half of what a command costs
for i = 1, tonumber(ARGV[1]) do
  local k, a = i * 4, i * 3
  out[i] = 0
  if call('EXISTS', KEYS[k - 1], KEYS[k]) == 0 then
    local set = redis.pcall('SET', KEYS[k - 3], ARGV[a - 1], 'NX', 'PX', ARGV[a])
    if set and set.ok then
      local last = redis.pcall('SET', KEYS[k - 2], stamp, 'PX', ARGV[a + 1], 'GET')
      if type(last) == 'table' then
        out[i] = last
      elseif last and tonumber(last) >= tonumber(now) then
        out[i] = tonumber(last) + 1
        call('SET', KEYS[k - 2], out[i], 'PX', ARGV[a + 1])
      else
        out[i] = now
      end
    elseif set then
      out[i] = set
    end
  end
end
return out
