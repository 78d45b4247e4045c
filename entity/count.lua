-- count: how many living items are in an index.
--
-- KEYS[1] the index, KEYS[2] the ledger, KEYS[3] the expiry zset (absent if items never expire); the index alone where they are in several slots
-- ARGV[1] lowest, ARGV[2] highest score, ARGV[3] how many expired ids to look at, at most
-- Returns {count, '1' if it is exact as far as the index is complete, what the ledger says of indexes as a whole ('-' nothing, '' there is no item)}
-- Round trips: 1
local call = redis.call
local n = call('ZCOUNT', KEYS[1], ARGV[1], ARGV[2])
local said = KEYS[2] and (call('HGET', KEYS[2], '') or call('EXISTS', KEYS[2]) == 1 and '-') or ''
if not KEYS[3] or n == 0 then return {n, '1', said} end
local t = call('TIME')
local most = tonumber(ARGV[3])
local dead = call('ZRANGE', KEYS[3], '-inf', '(' .. string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)), 'BYSCORE', 'LIMIT', 0, most)

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
