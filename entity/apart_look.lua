-- apart_look: reads fields of an item, and how long it lives, in one step.
--
-- KEYS[1] the item's hash
-- ARGV[1…] fields
-- Returns {} if it is gone, else {ms until it ends (-1 never), text, …}
-- Round trips: 1
local left = redis.call('PTTL', KEYS[1])
if left == -2 then return {} end
local out = {tostring(left)}
for i = 1, #ARGV do
  out[i + 1] = redis.call('HGET', KEYS[1], ARGV[i])
end
return out
