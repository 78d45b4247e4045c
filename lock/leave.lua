-- leave: gives back locks that are held alone and that nobody waits for; the common case of release, for many at once.
-- KEYS two per lock: main, waiters
-- ARGV[1] number of locks, then one per lock: token
-- Returns per lock 1, 0 if it was not held, or -1 if release is to be asked, or an error
-- Round trips: 1. O(locks).
local call, KEYS, ARGV = redis.call, KEYS, ARGV
local out = {}
for i = 1, tonumber(ARGV[1]) do
  local main = KEYS[2 * i - 1]
  if call('EXISTS', KEYS[2 * i]) == 1 then
    out[i] = -1
  else
    local token = redis.pcall('GET', main)
    if token == ARGV[i + 1] then
      out[i] = call('DEL', main)
    else
      out[i] = type(token) == 'table' and token or 0
    end
  end
end
return out
