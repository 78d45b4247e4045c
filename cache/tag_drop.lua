-- tag_drop: take keys out of a tag, but for those that were written since they were read
-- KEYS: 1 the tag
-- ARGV: key, the score that was read, key, score …
-- Returns: how many were taken out
-- Round trips: 1
local n = 0
for i = 1, #ARGV, 2 do
  if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or -1) == tonumber(ARGV[i + 1]) then
    n = n + redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return n
