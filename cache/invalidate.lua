-- invalidate: deletes a value, and makes a load of it void.
-- KEYS[1] value
-- KEYS[2] fill
-- ARGV: none
-- Returns: how many of the two were there
-- Bound: O(1)
-- Round trips: 1
-- include: asked
for _, key in ipairs(KEYS) do
  local _, wrong = asked('STRLEN', key) -- UNLINK takes any type
  if wrong then
    return wrong
  end
end
return redis.call('UNLINK', KEYS[1], KEYS[2])
