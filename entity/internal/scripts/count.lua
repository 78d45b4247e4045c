-- count: counts the living items of an index.
-- KEYS[1] index: alone where they are in several slots
-- KEYS[2]? index_records
-- KEYS[3]? expires: the expiry zset (absent if items never expire)
-- ARGV[1] low: the lowest score
-- ARGV[2] high: the highest score
-- ARGV[3] most: how many expired ids to look at, at most
-- Returns: {count, '1' if it is exact as far as the index is complete, the marks of the indexes ('-'
--   nothing, '' there is no item)}
-- Bound: O(log N), and `most` expired ids
-- Round trips: 1
-- include: time
-- include: look
local call = redis.call
local n = look('ZCOUNT', KEYS[1], ARGV[1], ARGV[2])
local said = KEYS[2] and (look('HGET', KEYS[2], '') or call('EXISTS', KEYS[2]) == 1 and '-') or ''
if not KEYS[3] or n == 0 then return {n, '1', said} end
local most = tonumber(ARGV[3])
local dead = look('ZRANGE', KEYS[3], '-inf', '(' .. string.format('%.0f', (clock())), 'BYSCORE', 'LIMIT', 0, most)

-- limit is a bound as a number, and whether it is outside itself.
local function limit(bound)
  local open = string.byte(bound) == 40
  return tonumber(open and string.sub(bound, 2) or bound), open
end

local low, above = limit(ARGV[1])
local high, below = limit(ARGV[2])
for i = 1, #dead do
  local s = tonumber(call('ZSCORE', KEYS[1], dead[i]) or 'nan')
  if s and (s > low or s == low and not above) and (s < high or s == high and not below) then n = n - 1 end
end
return {n, #dead < most and '1' or '0', said}
