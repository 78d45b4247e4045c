-- leave: gives back locks that are held alone and that none waits for; the common case of release, for many at once.
-- KEYS[1…] main, waiters
-- ARGV[1] locks: how many
-- ARGV[2…] token
-- Returns: per lock 1, 0 if it was not held, or -1 if release is to be asked
-- Bound: O(locks), 64 locks
-- Round trips: 1
local call, KEYS, ARGV = redis.call, KEYS, ARGV
local out, n = {}, tonumber(ARGV[1])
for i = 1, n do
  if call('EXISTS', KEYS[2 * i]) == 1 then
    out[i] = -1
  else
    local token = redis.pcall('GET', KEYS[2 * i - 1])
    out[i] = token == ARGV[i + 1] and 1 or type(token) == 'table' and -1 or 0
  end
end
for i = 1, n do
  if out[i] == 1 then call('DEL', KEYS[2 * i - 1]) end
end
return out
