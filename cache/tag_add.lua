-- tag_add: put a key into the set of a tag that lies on another server than the key
-- KEYS: 1 the tag
-- ARGV: 1 the key of the value  2 how long the tag remembers, in µs
-- Returns: 1
-- Round trips: 1
local writes, wrong = plan(1, tonumber(ARGV[2]), ARGV[1])
if wrong then
  return wrong
end
remember(writes, ARGV[1])
return 1
