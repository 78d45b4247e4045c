-- due: takes or renews the lease of the sweep, and gives items that are past their expiry.
--
-- KEYS[1] the expiry zset, KEYS[2] the ledger, KEYS[3] the lease of the sweep
-- ARGV[1] who asks, ARGV[2] lease in ms, ARGV[3] items, at most
-- Returns {'' or ms until the lease of another ends, ms until an item is due ('' none), id, record, …}
-- Round trips: 1
local call = redis.call
local holder = call('GET', KEYS[3])
if holder and holder ~= ARGV[1] then
  return {tostring(math.max(call('PTTL', KEYS[3]), 1)), ''}
end
if holder then
  call('PEXPIRE', KEYS[3], ARGV[2])
else
  call('UNLINK', KEYS[3]) -- a full server takes SET only behind what needs no memory
  call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
end
local t = call('TIME')
local ms = t[1] * 1000 + math.floor(t[2] / 1000)
local ids = call('ZRANGE', KEYS[1], '-inf', string.format('%.0f', ms), 'BYSCORE', 'LIMIT', 0, ARGV[3])
local out = {'', ''}
if #ids == 0 then
  local first = call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  if first[2] then out[2] = string.format('%.0f', math.max(first[2] - ms, 0)) end
  return out
end
local records = call('HMGET', KEYS[2], unpack(ids))
for i = 1, #ids do
  out[2 * i + 1], out[2 * i + 2] = ids[i], records[i] or ''
end
return out
