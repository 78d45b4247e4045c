-- apart_look: reads fields of an item, and how long it lives, in one step.
-- KEYS[1] hash: the item's
-- ARGV[1…] field
-- Returns: {} if it is gone, else {ms until it ends (-1 never), text, …}
-- Bound: O(fields)
-- Round trips: 1
local left = redis.call('PTTL', KEYS[1])
if left == -2 then return {} end
local out = {tostring(left)}
for i = 1, #ARGV do
  out[i + 1] = redis.call('HGET', KEYS[1], ARGV[i])
end
return out
