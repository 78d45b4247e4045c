-- reseal: puts new sealed texts in the place of old ones that no process has changed.
-- A key keeps its TTL. Elements of a list may have moved meanwhile, all of them as far: the first one that has is looked
-- for among its neighbours, once, so that a long list holds up the server no longer than a short one. What is not found
-- is found by the next walk.
-- KEYS[1] key
-- ARGV[1] kind: string, hash or list
-- ARGV[2…] where, old, new: a field of a hash or an index of a list, the old text, the new one
-- Returns: per text 1 if it was replaced, 0 if it is another by now or gone
-- Bound: O(texts), and 1,000 elements of a list
-- Round trips: 1
local near, moved, searched, done = 500, 0, false, {}
local function find(where, old)
  local at = where + moved
  if at >= 0 and redis.call('LINDEX', KEYS[1], at) == old then return at end
  if searched then return nil end
  searched = true
  local first = math.max(where - near, 0)
  for n, text in ipairs(redis.call('LRANGE', KEYS[1], first, where + near)) do
    if text == old then
      moved = first + n - 1 - where
      return where + moved
    end
  end
end
for i = 2, #ARGV, 3 do
  local where, old, new, replaced = ARGV[i], ARGV[i + 1], ARGV[i + 2], 0
  if ARGV[1] == 'string' then
    if redis.call('GET', KEYS[1]) == old then
      redis.call('SET', KEYS[1], new, 'KEEPTTL')
      replaced = 1
    end
  elseif ARGV[1] == 'hash' then
    if redis.call('HGET', KEYS[1], where) == old then
      redis.call('HSET', KEYS[1], where, new)
      replaced = 1
    end
  else
    local at = find(tonumber(where), old)
    if at then
      redis.call('LSET', KEYS[1], at, new)
      replaced = 1
    end
  end
  done[#done + 1] = replaced
end
return done
