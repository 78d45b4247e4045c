-- read: rows of a ranking, highest score first, ties by member ascending
-- KEYS: 1 the ranking
-- ARGV: 1 range, rank, around or after  2 how members compare: bytes or number
--       range: 3 first place, from 0  4 how many
--       rank: 3 member
--       around: 3 member  4 how many above and below
--       after: 3 score and 4 member of the row before  5 how many
-- Returns: the place of the first row from 0, and member and score in turns; nil if the member
--          is none
-- Round trips: 1
local key, numbers = KEYS[1], ARGV[2] == 'number'

-- Lua's own < asks the locale.
local function bytesLess(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function size(m) return string.byte(m) == 45 and -#m or #m end

-- numbers as their decimal text, which may be longer than a double is exact
local function less(a, b)
  if not numbers then return bytesLess(a, b) end
  local x, y = size(a), size(b)
  if x ~= y then return x < y end
  if x < 0 then return bytesLess(b, a) end
  return bytesLess(a, b)
end

-- members come by bytes; by their length they are numbers in order
local function ordered(members)
  if not numbers then return members end
  local sizes, low, high = {}, 0, 0
  for _, m in ipairs(members) do
    local s = size(m)
    sizes[s] = sizes[s] or {}
    table.insert(sizes[s], m)
    low, high = math.min(low, s), math.max(high, s)
  end
  local out = {}
  for s = low, high do
    local some = sizes[s] or {}
    for i = 1, #some do out[#out + 1] = s < 0 and some[#some + 1 - i] or some[i] end
  end
  return out
end

-- tied is n members with a score, from the one at offset
local function tied(score, offset, n)
  if not numbers then
    return redis.call('ZRANGE', key, score, score, 'BYSCORE', 'LIMIT', offset, n)
  end
  local all, out = ordered(redis.call('ZRANGE', key, score, score, 'BYSCORE')), {}
  for i = 1, n do out[i] = all[offset + i] end
  return out
end

local function above(score) return redis.call('ZCOUNT', key, '(' .. score, '+inf') end

-- before is how many with this score come before a member, which need not be there; and itself
local function before(score, member, itself)
  local first, n = redis.call('ZCOUNT', key, '-inf', '(' .. score), redis.call('ZCOUNT', key, score, score)
  if n == 0 then return 0 end
  local function comes(m) return less(m, member) or itself and m == member end
  if numbers then
    local count = 0
    for _, m in ipairs(redis.call('ZRANGE', key, first, first + n - 1)) do
      if comes(m) then count = count + 1 end
    end
    return count
  end
  local low, high = 0, n
  while low < high do
    local middle = math.floor((low + high) / 2)
    if comes(redis.call('ZRANGE', key, first + middle, first + middle)[1]) then low = middle + 1 else high = middle end
  end
  return low
end

-- slice is n rows from a place on. The server has the scores in order and ties
-- the other way round; a group of ties at either end may be cut.
local function slice(from, n)
  if n < 1 then return {from, {}} end
  local rows = redis.call('ZRANGE', key, from, from + n - 1, 'REV', 'WITHSCORES')
  local i, size = 1, #rows
  while i <= size do
    local score, last, members = rows[i + 1], i, nil
    while rows[last + 3] == score do last = last + 2 end
    local length = (last - i) / 2 + 1
    if (i == 1 or last + 2 > size) and redis.call('ZCOUNT', key, score, score) > length then
      members = tied(score, i == 1 and from - above(score) or 0, length)
    elseif length > 1 then
      members = {}
      for j = last, i, -2 do members[#members + 1] = rows[j] end
      members = ordered(members)
    end
    for j = 1, members and length or 0 do rows[i + 2 * j - 2] = members[j] end
    i = last + 2
  end
  return {from, rows}
end

if ARGV[1] == 'range' then
  return slice(tonumber(ARGV[3]), tonumber(ARGV[4]))
elseif ARGV[1] == 'after' then
  return slice(above(ARGV[3]) + before(ARGV[3], ARGV[4], true), tonumber(ARGV[5]))
end
local score = redis.call('ZSCORE', key, ARGV[3])
if not score then return false end
local place = above(score) + before(score, ARGV[3], false)
if ARGV[1] == 'rank' then
  return {place, {ARGV[3], score}}
end
local from = math.max(place - ARGV[4], 0)
return slice(from, place + ARGV[4] - from + 1)
