-- count: how many living items are in an index.
--
-- KEYS[1] the index, KEYS[2] the expiry zset (absent if items never expire)
-- ARGV[1] 'set' or 'zset', ARGV[2] lowest, ARGV[3] highest score, ARGV[4] how many expired ids to look at, at most
-- Returns {count, '1' if it is exact}
-- Round trips: 1
local call = redis.call
local set = ARGV[1] == 'set'
local n = set and call('SCARD', KEYS[1]) or call('ZCOUNT', KEYS[1], ARGV[2], ARGV[3])
if not KEYS[2] or n == 0 then return {n, '1'} end
local t = call('TIME')
local most = tonumber(ARGV[4])
local dead = call('ZRANGE', KEYS[2], '-inf', '(' .. string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)), 'BYSCORE', 'LIMIT', 0, most)

-- limit is a bound as a number, and whether it is outside itself.
local function limit(bound)
  local open = string.byte(bound) == 40
  return tonumber(open and string.sub(bound, 2) or bound), open
end

local low, above = limit(ARGV[2])
local high, below = limit(ARGV[3])
for i = 1, #dead do
  if set then
    n = n - call('SISMEMBER', KEYS[1], dead[i])
  else
    local s = tonumber(call('ZSCORE', KEYS[1], dead[i]) or 'nan')
    if s and (s > low or s == low and not above) and (s < high or s == high and not below) then n = n - 1 end
  end
end
return {n, #dead < most and '1' or '0'}
