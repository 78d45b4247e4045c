-- bits: counts the bits that some bitmaps have set together.
-- KEYS[1] result: a key for the result, which is gone when the script ends
-- KEYS[2…] bitmap
-- ARGV[1] how: OR or AND
-- ARGV[2] most: how many bytes the bitmaps may have together
-- Returns: the number; -1 if they have more bytes; an error if the key for the result is in use, or a bitmap is none
-- Bound: O(bytes), of which there are `most`
-- Round trips: 1
if redis.call('EXISTS', KEYS[1]) == 1 then
  return redis.error_reply('SCRATCH the key for the result holds something (key ' .. KEYS[1] .. ')')
end
local bytes = 0
for i = 2, #KEYS do
  local size = redis.pcall('STRLEN', KEYS[i])
  if type(size) == 'table' then
    return {err = size.err .. ' (key ' .. KEYS[i] .. ')'}
  end
  bytes = bytes + size
end
if bytes > tonumber(ARGV[2]) then
  return -1
end
redis.call('BITOP', ARGV[1], unpack(KEYS))
local count = redis.call('BITCOUNT', KEYS[1])
redis.call('UNLINK', KEYS[1])
return count
