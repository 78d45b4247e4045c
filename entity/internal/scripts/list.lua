-- list: reads a page of the items that are in an index, and in others too, if so asked. Ids whose item is gone are passed
--   over.
-- KEYS[1] index
-- KEYS[2…] other: indexes that the items must be in too, then the index records if `what` is not '2'
-- ARGV[1] order: 'up' or 'down' (lowest or highest score first)
-- ARGV[2] lowest: score, as ZRANGE BYSCORE takes it
-- ARGV[3] highest: score
-- ARGV[4] score: where the page before ended: its last score ('' the first page)
-- ARGV[5] last: its last id
-- ARGV[6] wanted: items
-- ARGV[7] budget: work to do, at most: an id that is looked at is 1, each other index that is asked 1, 4 texts or 4 kB
--   that are read 1
-- ARGV[8] what: '1': the ids alone, '2': ids and scores, whether their items are there or not
-- ARGV[9] prefix: of the items' keys
-- ARGV[10] suffix: of the items' keys
-- ARGV[11…] field
-- Returns: {'1' if there is more, last score, last id, ids whose item is gone, the marks of the indexes
--   ('-' nothing, '' there is no item), id, text, …, id, …}
-- Bound: O(budget)
-- Round trips: 1
-- include: look
local call, byte = redis.call, string.byte
local index, rev = KEYS[1], order == 'down'
local wanted, budget, alone = tonumber(wanted), tonumber(budget), what == '1'
local fields = #ARGV - 10
local out, n, found, gone = {'', '', '', '0', ''}, 5, 0, 0
local others = #KEYS
if what ~= '2' then
  others = #KEYS - 1
  out[5] = look('HGET', KEYS[#KEYS], '') or call('EXISTS', KEYS[#KEYS]) == 1 and '-' or ''
end

local function elsewhere(id)
  for i = 2, others do
    budget = budget - 1
    if not look('ZSCORE', KEYS[i], id) then return false end
  end
  return true
end

-- beyond is the other side of an end of a range: what is not in it.
local function beyond(bound)
  if byte(bound) == 40 then return string.sub(bound, 2) end
  return '(' .. bound
end

-- outside is whether a score is beyond the end of the range.
local function outside(s)
  local bound = rev and lowest or highest
  if bound == '-inf' or bound == '+inf' then return false end
  local open = byte(bound) == 40
  local limit = tonumber(open and string.sub(bound, 2) or bound)
  s = tonumber(s)
  if rev then return s < limit or open and s == limit end
  return s > limit or open and s == limit
end

-- read takes the texts of an item into the page; false if it is gone.
local function read(id)
  local key = prefix .. id .. suffix
  local texts = redis.pcall('HMGET', key, unpack(ARGV, 11))
  if texts.err and not string.find(texts.err, 'WRONGTYPE', 1, true) then refuse(texts.err, key) end -- of another type it is no item
  local there, size = false, 0
  for i = 1, fields do
    if texts[i] then there, size = true, size + #texts[i] end
  end
  budget = budget - fields / 4 - size / 4096
  if not there then return false end
  out[n + 1] = id
  for i = 1, fields do out[n + 1 + i] = texts[i] end
  n = n + 1 + fields
  return true
end

-- take looks at an id, and takes its item into the page; false when the page is full.
local function take(id, s)
  if found == wanted or budget <= 0 then return false end
  budget = budget - 1
  if what == '2' then
    out[n + 1], out[n + 2] = id, s
    n, found = n + 2, found + 1
    return true
  end
  if others > 1 and not elsewhere(id) then return true end
  local there
  if alone then
    there = look('EXISTS', prefix .. id .. suffix) == 1
    if there then
      n = n + 1
      out[n] = id
    end
  else
    there = read(id)
  end
  if there then found = found + 1 else gone = gone + 1 end
  return true
end

-- above is whether an id comes after another, by their bytes: as a zset has them.
local function above(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x > y end
  end
  return #a > #b
end

-- after is the rank of the first id after the last page, whose last id is gone.
local function after()
  local low, high
  if rev then
    low = look('ZCOUNT', index, '(' .. score, '+inf')
  else
    low = look('ZCOUNT', index, '-inf', '(' .. score)
  end
  high = low + call('ZCOUNT', index, score, score)
  while low < high do
    local mid = math.floor((low + high) / 2)
    local id = call(rev and 'ZREVRANGE' or 'ZRANGE', index, mid, mid)[1]
    if id == last or above(id, last) == rev then low = mid + 1 else high = mid end
  end
  return low
end

-- first is the rank at which the page begins.
local function first()
  if score ~= '' then
    local rank = look('ZSCORE', index, last) == score and call(rev and 'ZREVRANK' or 'ZRANK', index, last)
    return rank and rank + 1 or after()
  end
  if rev and highest ~= '+inf' then return look('ZCOUNT', index, beyond(highest), '+inf') end
  if not rev and lowest ~= '-inf' then return look('ZCOUNT', index, '-inf', beyond(lowest)) end
  return 0
end

local more, at = '', {score, last}
local rank = first()
while more == '' do
  -- With other indexes most ids may not count: more of them at once.
  local count = others > 1 and 100 or wanted - found + 1
  local got = look(rev and 'ZREVRANGE' or 'ZRANGE', index, rank, rank + count - 1, 'WITHSCORES')
  for i = 1, #got, 2 do
    local id, s = got[i], got[i + 1]
    if outside(s) then
      got = {}
      break
    end
    if not take(id, s) then
      more = '1'
      break
    end
    at[1], at[2] = s, id
  end
  if #got < 2 * count then break end
  rank = rank + count
end
out[1], out[2], out[3], out[4] = more, at[1], at[2], tostring(gone)
return out
