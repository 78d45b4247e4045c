-- list: a page of the items that are in an index, and in others too, if so asked. Ids whose item is gone are passed over.
--
-- KEYS[1] the index, KEYS[2…] others that the items must be in too
-- ARGV[1] 'set', 'up' or 'down' (lowest or highest score first)
-- ARGV[2] lowest score, ARGV[3] highest score, as ZRANGE BYSCORE takes them
-- ARGV[4] where the page before ended: its last score ('' the first page), ARGV[5] its last id
-- ARGV[6] items wanted, ARGV[7] ids to look at, at most
-- ARGV[8] '1': the ids alone, '2': ids and scores, whether their items are there or not; ARGV[9] prefix, ARGV[10] suffix of the items' keys, ARGV[11…] their fields
-- Returns {'1' if there is more, last score, last id, ids whose item is gone, id, text, …, id, …}
-- Round trips: 1
local call = redis.call
local index, order = KEYS[1], ARGV[1]
local score, last = ARGV[4], ARGV[5]
local wanted, budget, alone = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8] == '1'
local prefix, suffix = ARGV[9], ARGV[10]
local fields = #ARGV - 10
local out, n, found, gone = {'', '', '', '0'}, 4, 0, 0

local set = {} -- of the others: whether it is one
for i = 2, #KEYS do set[i] = call('TYPE', KEYS[i]).ok == 'set' end

local function elsewhere(id)
  for i = 2, #KEYS do
    local member = set[i] and call('SISMEMBER', KEYS[i], id) == 1 or not set[i] and call('ZSCORE', KEYS[i], id)
    if not member then return false end
  end
  return true
end

-- beyond is the other side of an end of a range: what is not in it.
local function beyond(bound)
  if string.byte(bound) == 40 then return string.sub(bound, 2) end
  return '(' .. bound
end

-- outside is whether a score lies behind the end of the range.
local function outside(s, rev)
  local bound = rev and ARGV[2] or ARGV[3]
  if bound == '-inf' or bound == '+inf' then return false end
  local open = string.byte(bound) == 40
  local limit = tonumber(open and string.sub(bound, 2) or bound)
  s = tonumber(s)
  if rev then return s < limit or open and s == limit end
  return s > limit or open and s == limit
end

-- take gives false when the page is full.
local function take(id, s)
  if found == wanted then return false end
  if ARGV[8] == '2' then
    n, found = n + 2, found + 1
    out[n - 1], out[n] = id, s or ''
    return true
  end
  if #KEYS > 1 and not elsewhere(id) then return true end
  local texts
  if not alone then
    texts = redis.pcall('HMGET', prefix .. id .. suffix, unpack(ARGV, 11)) -- the key may be another type
    local there = false
    for i = 1, fields do
      if texts[i] then
        there = true
        break
      end
    end
    if not there then
      gone = gone + 1
      return true
    end
  elseif call('EXISTS', prefix .. id .. suffix) == 0 then
    gone = gone + 1
    return true
  end
  out[n + 1] = id
  for i = 1, fields do out[n + 1 + i] = texts[i] end
  n = n + 1 + fields
  found = found + 1
  return true
end

local more, at = '', {score, last}

-- first is the rank at which the page begins.
local function first(rev)
  if score ~= '' then
    local rank = call('ZSCORE', index, last) == score and call(rev and 'ZREVRANK' or 'ZRANK', index, last)
    if rank then return rank + 1, false end
    return rev and call('ZCOUNT', index, '(' .. score, '+inf') or call('ZCOUNT', index, '-inf', '(' .. score), true
  end
  if rev and ARGV[3] ~= '+inf' then return call('ZCOUNT', index, beyond(ARGV[3]), '+inf') end
  if not rev and ARGV[2] ~= '-inf' then return call('ZCOUNT', index, '-inf', beyond(ARGV[2])) end
  return 0
end

if order == 'set' then
  if score == 'scan' or last == '' and call('SCARD', index) > 5000 then
    local reply = call('SSCAN', index, score == 'scan' and last or '0', 'COUNT', wanted)
    wanted = #reply[2] -- what the server gives at once, it gives no second time
    for _, id in ipairs(reply[2]) do take(id) end
    at = {'scan', reply[1]}
    if reply[1] ~= '0' then more = '1' end
  else
    local ids = call('SMEMBERS', index)
    if #ids > 1 then table.sort(ids) end
    for i = 1, #ids do
      if last == '' or ids[i] > last then
        if budget == 0 or not take(ids[i]) then
          more = '1'
          break
        end
        budget = budget - 1
        at[2] = ids[i]
      end
    end
  end
else
  local rev = order == 'down'
  local rank, skip = first(rev)
  while more == '' do
    -- With other indexes most ids may not count: more of them at once.
    local count = #KEYS > 1 and 100 or wanted - found + 1
    local got
    if rev then
      got = call('ZRANGE', index, rank, rank + count - 1, 'REV', 'WITHSCORES')
    else
      got = call('ZRANGE', index, rank, rank + count - 1, 'WITHSCORES')
    end
    for i = 1, #got, 2 do
      local id, s = got[i], got[i + 1]
      if outside(s, rev) then
        got = {}
        break
      end
      -- Ids of the same score that were given before: the last of them is gone.
      if not (skip and s == score and (rev and id >= last or not rev and id <= last)) then
        if budget == 0 or not take(id, s) then
          more = '1'
          break
        end
        budget = budget - 1
        at[1], at[2] = s, id
      end
    end
    if #got < 2 * count then break end
    rank = rank + count
  end
end
out[1], out[2], out[3], out[4] = more, at[1], at[2], tostring(gone)
return out
