-- event trim: counts the oldest messages that a policy does not keep, and removes them when told to.
-- KEYS[1] stream
-- ARGV[1] from which id on, ARGV[2] how many may be looked at, ARGV[3] how many stay or 0, ARGV[4] ms of the oldest that stays or 0,
-- ARGV[5] "1" to remove, ARGV[6] "1" to stop before what a group has not acknowledged,
-- ARGV[7] how many were counted before and are still there
-- Returns {messages, where to go on or '', {group, not acknowledged…}, fields and groups looked at}
-- Round trips: 1. O(messages looked at, for each group).
-- Ids are compared as texts: their parts have 64 bits, and Lua's numbers 53.
local function less(a, b) return #a < #b or #a == #b and a < b end
local function before(x, y)
  local a, b = string.match(x, '(%d+)-(%d+)')
  local c, d = string.match(y, '(%d+)-(%d+)')
  return less(a, c) or a == c and less(b, d)
end

local entries = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', tonumber(ARGV[2]) + 1)
local groups = #entries > 0 and redis.call('XINFO', 'GROUPS', KEYS[1]) or {}
local state = {}
for i, group in ipairs(groups) do
  local is = {}
  for j = 1, #group, 2 do is[group[j]] = group[j + 1] end
  state[i] = {name = is.name, last = is['last-delivered-id'], open = 0}
end
local gone, byNumber, work = 0, 0, 0
for _, entry in ipairs(entries) do work = work + #entry[2] + 2 * #groups end
if ARGV[3] ~= '0' then byNumber = redis.call('XLEN', KEYS[1]) - tonumber(ARGV[3]) - tonumber(ARGV[7]) end
local boundary = ''
for i, entry in ipairs(entries) do
  boundary = entry[1]
  local goes = i <= byNumber or before(entry[1], ARGV[4] .. '-0')
  if not goes or i > tonumber(ARGV[2]) then break end
  local open = {}
  for j, group in ipairs(state) do
    open[j] = before(group.last, entry[1]) or redis.call('XPENDING', KEYS[1], group.name, entry[1], entry[1], 1)[1] ~= nil
    if open[j] and ARGV[6] == '1' then goes = false end
  end
  if not goes then break end
  for j, group in ipairs(state) do
    if open[j] then group.open = group.open + 1 end
  end
  gone = gone + 1
  boundary = ''
end
if ARGV[5] == '1' and gone > 0 then
  if boundary ~= '' then
    redis.call('XTRIM', KEYS[1], 'MINID', '=', boundary)
  else
    redis.call('XTRIM', KEYS[1], 'MAXLEN', '=', math.max(redis.call('XLEN', KEYS[1]) - gone, 0))
  end
end
local report = {}
for _, group in ipairs(state) do
  report[#report + 1] = group.name
  report[#report + 1] = group.open
end
if gone < tonumber(ARGV[2]) then boundary = '' end
return {gone, boundary, report, work}
