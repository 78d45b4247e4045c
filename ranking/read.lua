-- read: rows of a ranking, highest score first, ties by the bytes of the member ascending
-- KEYS: 1 the ranking
-- ARGV: 1 range, rank, around or after
--       range: 2 first place, from 0  3 how many
--       rank: 2 member
--       around: 2 member  3 how many above and below
--       after: 2 score and 3 member of the row before  4 how many
-- Returns: the place of the first row from 0, and member and score in turns; nil if the member
--          is none
-- Round trips: 1
-- Everything is found by its rank, O(log N): how many have the same score makes no difference.
local key = KEYS[1]

-- Lua's own < asks the locale.
local function less(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function above(score) return redis.call('ZCOUNT', key, '(' .. score, '+inf') end
local function below(score) return redis.call('ZCOUNT', key, '-inf', '(' .. score) end

-- upto is how many with this score come before a member, which need not be there, or are it
local function upto(score, member)
  local first, low, high = below(score), 0, redis.call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('ZRANGE', key, first + middle, first + middle)[1]
    if other == member or less(other, member) then low = middle + 1 else high = middle end
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
    if i == 1 or last + 2 > size then
      local first = below(score) + (i == 1 and from - above(score) or 0)
      members = redis.call('ZRANGE', key, first, first + length - 1)
    elseif length > 1 then
      members = {}
      for j = last, i, -2 do members[#members + 1] = rows[j] end
    end
    for j = 1, members and length or 0 do rows[i + 2 * j - 2] = members[j] end
    i = last + 2
  end
  return {from, rows}
end

if ARGV[1] == 'range' then
  return slice(tonumber(ARGV[2]), tonumber(ARGV[3]))
elseif ARGV[1] == 'after' then
  return slice(above(ARGV[2]) + upto(ARGV[2], ARGV[3]), tonumber(ARGV[4]))
end
local score = redis.call('ZSCORE', key, ARGV[2])
if not score then return false end
local place = above(score) + redis.call('ZRANK', key, ARGV[2]) - below(score)
if ARGV[1] == 'rank' then
  return {place, {ARGV[2], score}}
end
local from = math.max(place - ARGV[3], 0)
return slice(from, place + ARGV[3] - from + 1)
