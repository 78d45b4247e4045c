-- rows: reads rows of a ranking, highest score first, ties by the bytes of the member ascending.
-- Everything is found by its rank, O(log N): how many have the same score makes no difference. Its scripts have KEYS[1]
-- the ranking.
-- Part.
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

-- rows returns the place of the first row from 0, and member and score in turns; nil if the member is none. what is
--   range: a the first place, from 0, b how many
--   rank: a the member
--   around: a the member, b how many above and below
--   after: a the score and b the member of the row before, c how many
local function rows(what, a, b, c)
  if what == 'range' then
    return slice(tonumber(a), tonumber(b))
  elseif what == 'after' then
    return slice(above(a) + upto(a, b), tonumber(c))
  end
  local score = redis.call('ZSCORE', key, a)
  if not score then return false end
  local place = above(score) + redis.call('ZRANK', key, a) - below(score)
  if what == 'rank' then
    return {place, {a, score}}
  end
  local from = math.max(place - b, 0)
  return slice(from, place + b - from + 1)
end
