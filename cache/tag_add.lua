-- tag_add: puts a key into the set of a tag that is on another server than the key.
-- KEYS[1] tag
-- ARGV[1] key: of the value
-- ARGV[2] span: how long the tag remembers, in µs
-- Returns: 1
-- Bound: O(log N)
-- Round trips: 1
-- include: remember
local writes, wrong = plan(1, tonumber(ARGV[2]), ARGV[1])
if wrong then
  return wrong
end
remember(writes, ARGV[1])
return 1
