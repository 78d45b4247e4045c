-- apart_touch: reads an item and changes its TTL. It makes it shorter under an intent only: else the sweeper would come
--   too late.
-- KEYS[1] hash: the item's
-- ARGV[1] ttl: in ms
-- ARGV[2] when: 'any', 'less' or 'more' (only if it lives longer or shorter) or '@field=text' (less, and only if it has
--   that)
-- ARGV[3] longer: ms that it may live longer and be left so
-- ARGV[4] deadline: ms by this server's clock until when it may be made shorter, '' without an intent
-- ARGV[5…] field
-- Returns: {} if it is gone or has not that field, else {code, ms until it ends, text, …}: 'changed', 'kept', 'shorter'
--   (open an intent first), 'late'
-- Bound: O(fields)
-- Round trips: 1
-- include: time
local hash, ttl = KEYS[1], tonumber(ARGV[1])
local left, code = redis.call('PTTL', hash), 'changed'
if left == -2 then return {} end
if string.byte(ARGV[2]) == 64 then
  local field, text = string.match(ARGV[2], '^@([^=]*)=(.*)$')
  if redis.call('HGET', hash, field) ~= text then return {} end
end
local longer = left == -1 or left > ttl
if longer and left ~= -1 and left <= ttl + ARGV[3] or not longer and ARGV[2] ~= 'any' and ARGV[2] ~= 'more' or longer and left ~= -1 and ARGV[2] == 'more' then
  code = 'kept'
elseif longer and ARGV[4] == '' then
  code = 'shorter'
elseif longer and clock() > tonumber(ARGV[4]) then
  code = 'late'
end
if code == 'changed' then
  redis.call('PEXPIRE', hash, ttl)
  left = ttl
end
local out = {code, tostring(left)}
for i = 5, #ARGV do
  out[i - 2] = redis.call('HGET', hash, ARGV[i])
end
return out
