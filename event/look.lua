-- event look: how a stream and its groups stand.
-- KEYS[1] stream, KEYS[2] dead letters
-- Returns {length, dead letters, added ever, {group, consumers, pending, read or -1, lag or -1, oldest pending id or ''…}}
-- Round trips: 1. O(groups).
local out = {redis.call('XLEN', KEYS[1]), redis.call('XLEN', KEYS[2]), 0, {}}
if redis.call('EXISTS', KEYS[1]) == 0 then
  return out
end
local info = redis.call('XINFO', 'STREAM', KEYS[1])
for i = 1, #info, 2 do
  if info[i] == 'entries-added' then out[3] = info[i + 1] end
end
for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local is = {}
  for i = 1, #group, 2 do is[group[i]] = group[i + 1] end
  local g = out[4]
  g[#g + 1] = is.name
  g[#g + 1] = is.consumers
  g[#g + 1] = is.pending
  g[#g + 1] = is['entries-read'] or -1
  g[#g + 1] = is.lag or -1
  g[#g + 1] = redis.call('XPENDING', KEYS[1], is.name)[2] or ''
end
return out
