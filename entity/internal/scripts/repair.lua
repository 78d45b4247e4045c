-- repair: compares one item with its entries, in one step, and puts them right if it is told to.
-- KEYS[1] hash: the item's
-- KEYS[2] expires: the expiry zset (any key again if items never expire)
-- KEYS[3] index_records
-- KEYS[4…] index
-- ARGV[1] id
-- ARGV[2] apply: '1' to put right
-- ARGV[3] keep: TTL of the index keys in ms ('0' none)
-- ARGV[4] found: '1' if the caller found the item
-- ARGV[5] record: that it should have
-- ARGV[6] fields: how many
-- ARGV[7] ttl: in ms of an item that has none ('' it may live for ever)
-- ARGV[8] said: the index record that the caller has read ('' nothing)
-- ARGV[9…] part: the fields and their texts as the caller found them ('=' and the text, '' if the field is missing), then
--   per index key 'in' or 'out', and its score
-- Returns: {'changed'} if the item is another one by now, {'expired'} if it waits to be swept, else {'', what is wrong,
--   …}: 'ledger', 'expiry', 'ttl' (an item that would live for ever), and per index key its number with 'missing',
--   'stale', 'score' or 'ttl'
-- Bound: O(fields + indexes)
-- Round trips: 1
-- include: time
local call, fmt = redis.call, string.format
-- include: marks
local hash, expires, index_records = KEYS[1], KEYS[2], KEYS[3]
local there = found == '1'
local ms = clock()

local left = call('PTTL', hash)
if (left ~= -2) ~= there then return {'changed'} end
local at = 9
for _ = 1, tonumber(fields) do
  local text = look('HGET', hash, ARGV[at])
  if (text and '=' .. text or '') ~= ARGV[at + 1] then return {'changed'} end
  at = at + 2
end

local had, ends = look('HGET', index_records, id), expires ~= index_records and look('ZSCORE', expires, id)
if foreign(call('HGET', index_records, ''), had) then return redis.error_reply(newer) end
if not there and ends and tonumber(ends) <= ms then return {'expired'} end
if (had or '') ~= said then return {'changed'} end -- it was elsewhere meanwhile, and is where it was

local wrong, mends = {''}, {}

-- fault notes what is wrong, and the command that puts it right. They are sent when all has been read.
local function fault(what, ...)
  wrong[#wrong + 1] = what
  mends[#mends + 1] = {...}
end

if there and had ~= record then fault('ledger', 'HSET', index_records, id, record) end
if not there and had then fault('ledger', 'HDEL', index_records, id) end
if there and left == -1 and ttl ~= '' then
  fault('ttl', 'PEXPIRE', hash, ttl)
  mends[#mends + 1] = {'ZADD', expires, fmt('%.0f', ms + ttl), id}
end
if expires ~= index_records then
  -- One that is due before its hash ends is no fault: then the sweep looks, and writes down when it ends. A server that
  -- was stopped between a script's TIME and its PEXPIRE leaves it so.
  if there and left >= 0 and (not ends or tonumber(ends) - ms - left > 1000) then
    fault('expiry', 'ZADD', expires, fmt('%.0f', ms + left), id)
  end
  if not there and ends then fault('expiry', 'ZREM', expires, id) end
end
for k = 4, #KEYS do
  local inside, score = ARGV[at] == 'in', ARGV[at + 1]
  local entry = look('ZSCORE', KEYS[k], id)
  local what
  if inside and not entry then
    what = 'missing'
  elseif not inside and entry then
    what = 'stale'
  elseif inside and tonumber(entry) ~= tonumber(score) then
    what = 'score'
  elseif inside and keep ~= '0' and call('PTTL', KEYS[k]) == -1 then
    what = 'ttl'
  end
  if what then
    if not inside then
      fault(k .. ' ' .. what, 'ZREM', KEYS[k], id)
    else
      fault(k .. ' ' .. what, 'ZADD', KEYS[k], score, id)
    end
    if inside and keep ~= '0' then mends[#mends + 1] = {'PEXPIRE', KEYS[k], keep} end
  end
  at = at + 2
end
if apply == '1' then
  for _, mend in ipairs(mends) do call(unpack(mend)) end
  tidy(index_records)
  if keep ~= '0' and #wrong > 1 then
    call('PEXPIRE', index_records, keep)
    call('PEXPIRE', expires, keep)
  end
end
return wrong
