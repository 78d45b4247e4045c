-- bits: how many bits some bitmaps have set together
-- KEYS: 1 a key for the result, which is gone when the script ends  2… the bitmaps
-- ARGV: 1 OR or AND
-- Returns: the number; an error if the key for the result is in use
-- Round trips: 1
if redis.call('EXISTS', KEYS[1]) == 1 then
  return redis.error_reply('SCRATCH the key for the result holds something')
end
redis.call('BITOP', ARGV[1], unpack(KEYS))
local count = redis.call('BITCOUNT', KEYS[1])
redis.call('UNLINK', KEYS[1])
return count
