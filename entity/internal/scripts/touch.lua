-- touch: reads items and prolongs them, in step with their expiry times. Each call is one item.
-- KEYS[1…] hash, expires, index_records: of a call: the item's hash, the expiry zset, the index records
-- ARGV[1] calls: how many
-- ARGV[2…] part: for each call its arguments, the item's id, TTL in ms, TTL of the index keys in ms, 'any', 'less' or
--   'more' (only if it lives longer or shorter than the TTL) or '@field=text' (less, and only if it has that), fields to
--   read …
-- Returns: per call false if the item is not there, else {its record, whether the TTL was changed, text, text, …}
-- Bound: O(calls × fields), 64 calls
-- Round trips: 1
-- include: time
local call, fmt = redis.call, string.format
local now = clock()

-- include: marks

local function touch(k, a)
  local hash, expires, index_records, id = KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], ARGV[a + 1]
  local left = call('PTTL', hash)
  if left == -2 then return false end
  local texts = look('HMGET', index_records, id, '')
  if foreign(texts[2], texts[1]) then error({err = newer}, 0) end
  local out = {texts[1] or '', '0'}
  local last = a + ARGV[a] - 1
  if last > a + 4 then
    texts = call('HMGET', hash, unpack(ARGV, a + 5, last))
    for i = 1, #texts do out[2 + i] = texts[i] end
  end
  look('ZSCORE', expires, id) -- a key of another type is refused before anything is written
  local ttl, more = tonumber(ARGV[a + 2]), ARGV[a + 4] == 'more'
  if string.byte(ARGV[a + 4]) == 64 then
    local field, text = string.match(ARGV[a + 4], '^@([^=]*)=(.*)$')
    if call('HGET', hash, field) ~= text then return out end
  end
  if more and left < ttl or not more and (ARGV[a + 4] == 'any' or left > ttl or left == -1) then
    local ends = fmt('%.0f', now + ttl)
    call('PEXPIRE', hash, ARGV[a + 2])
    call('ZADD', expires, ends, id)
    call('PEXPIRE', expires, ARGV[a + 3])
    call('PEXPIRE', index_records, ARGV[a + 3])
    out[2] = '1'
  end
  return out
end

local out, a, k = {}, 2, 0
for i = 1, tonumber(ARGV[1]) do
  local ok, reply = pcall(touch, k, a)
  if ok then
    out[i] = reply
  else
    out[i] = {err = type(reply) == 'table' and reply.err or 'ERR ' .. tostring(reply)}
  end
  k = k + 3
  a = a + ARGV[a]
end
return out
