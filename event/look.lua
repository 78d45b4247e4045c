-- event look: how a stream and its groups stand.
-- KEYS[1] stream, KEYS[2] dead letters
-- Returns {length, dead letters, {group, consumers, pending, lag or -1, missed or -1, oldest pending id or ''…}}
-- Round trips: 1. O(groups).
local out = {redis.call('XLEN', KEYS[1]), redis.call('XLEN', KEYS[2]), {}}
if redis.call('EXISTS', KEYS[1]) == 0 then
  return out
end
local function before(x, y)
  local a, b = string.match(x, '(%d+)-(%d+)')
  local c, d = string.match(y, '(%d+)-(%d+)')
  return tonumber(a) < tonumber(c) or a == c and tonumber(b) < tonumber(d)
end

local added, last = 0, ''
local info = redis.call('XINFO', 'STREAM', KEYS[1])
for i = 1, #info, 2 do
  if info[i] == 'entries-added' then added = info[i + 1] end
  if info[i] == 'last-generated-id' then last = info[i + 1] end
end
local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local is = {}
  for i = 1, #group, 2 do is[group[i]] = group[i + 1] end
  local at, read = is['last-delivered-id'], is['entries-read']
  local lag, missed = is.lag or -1, 0
  if at == last then
    lag = 0
  elseif not first or before(at, first[1]) then -- nothing of what is there; and maybe not all of what was
    lag, missed = out[1], read and math.max(added - out[1] - read, 0) or -1
  end
  local g = out[3]
  g[#g + 1] = is.name
  g[#g + 1] = is.consumers
  g[#g + 1] = is.pending
  g[#g + 1] = lag
  g[#g + 1] = missed
  g[#g + 1] = redis.call('XPENDING', KEYS[1], is.name)[2] or ''
end
return out
