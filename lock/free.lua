-- free: takes locks that none holds and none waits for, alone; the common case of acquire, for many at once.
-- KEYS[1…] main, fence, waiters, shared
-- ARGV[1] locks: how many
-- ARGV[2…] token, lease, keep: lease in ms, TTL of fence in ms
-- Returns: per lock the fencing token, or 0 if acquire is to be asked, or an error
-- Bound: O(locks), 64 locks
-- Round trips: 1
-- include: time
-- include: fence
local call, KEYS, ARGV = redis.call, KEYS, ARGV
local out, last = {}, {}
local n = tonumber(ARGV[1])
for i = 1, n do
  local k = i * 4
  if call('EXISTS', KEYS[k - 3], KEYS[k - 1], KEYS[k]) == 0 then
    last[i] = redis.pcall('GET', KEYS[k - 2]) -- false if there is none
  end
end
local _, now = clock()
local stamp = string.format('%.0f', now) -- once for all: it is half of what a command costs
for i = 1, n do
  local k, a, before = i * 4, i * 3, last[i]
  local old = before ~= nil and fence_in(before)
  out[i] = 0
  if old then
    local fence, text = fence_after(old, now), stamp
    if fence > now then text = string.format('%.0f', fence) end
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
