-- tag_drop: takes keys out of a tag, but for those that were written since they were read.
-- KEYS[1] tag
-- ARGV[1…] key, score: the score that was read
-- Returns: how many were taken out
-- Bound: O(log N) per key, 500 keys
-- Round trips: 1
local gone = {}
for i = 1, #ARGV, 2 do
  if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or -1) == tonumber(ARGV[i + 1]) then
    gone[#gone + 1] = ARGV[i]
  end
end
if #gone == 0 then
  return 0
end
return redis.call('ZREM', KEYS[1], unpack(gone))
