-- trim: counts the oldest messages that a policy does not keep, and removes them when told to.
-- KEYS[1] stream
-- ARGV[1] from: from which id on
-- ARGV[2] most: how many may be looked at
-- ARGV[3] stays: how many stay, or 0
-- ARGV[4] oldest: ms of the oldest that stays, or 0
-- ARGV[5] removes: "1" to remove
-- ARGV[6] careful: "1" to stop before what a group has not acknowledged
-- ARGV[7] counted: how many were counted before and are still there
-- Returns: {messages, where to go on or '', {group, not acknowledged…}, fields and groups looked at}
-- Bound: O(messages looked at, for each group)
-- Round trips: 1
local function less(a, b) return #a < #b or #a == #b and a < b end
local function before(x, y)
  local a, b = string.match(x, '(%d+)-(%d+)')
  local c, d = string.match(y, '(%d+)-(%d+)')
  return less(a, c) or a == c and less(b, d)
end

local entries = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', tonumber(most) + 1)
local groups = #entries > 0 and redis.call('XINFO', 'GROUPS', KEYS[1]) or {}
local state = {}
for i, group in ipairs(groups) do
  local is = {}
  for j = 1, #group, 2 do is[group[j]] = group[j + 1] end
  state[i] = {name = is.name, last = is['last-delivered-id'], open = 0}
end
local gone, byNumber, work = 0, 0, 0
for _, entry in ipairs(entries) do work = work + #entry[2] + 2 * #groups end
if stays ~= '0' then byNumber = redis.call('XLEN', KEYS[1]) - tonumber(stays) - tonumber(counted) end
local boundary = ''
for i, entry in ipairs(entries) do
  boundary = entry[1]
  local goes = i <= byNumber or before(entry[1], oldest .. '-0')
  if not goes or i > tonumber(most) then break end
  local open = {}
  for j, group in ipairs(state) do
    open[j] = before(group.last, entry[1]) or redis.call('XPENDING', KEYS[1], group.name, entry[1], entry[1], 1)[1] ~= nil
    if open[j] and careful == '1' then goes = false end
  end
  if not goes then break end
  for j, group in ipairs(state) do
    if open[j] then group.open = group.open + 1 end
  end
  gone = gone + 1
  boundary = ''
end
if removes == '1' and gone > 0 then
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
if gone < tonumber(most) then boundary = '' end
return {gone, boundary, report, work}
