-- lease: takes the lease of who acts under memory pressure, or makes it last as long again for who has it.
-- KEYS[1] lease
-- ARGV[1] who, ARGV[2] lease in ms
-- Returns {fence, who}: the token of the lease, '0' if another one has it, and who has it
-- Round trips: 1. O(1).
local held = redis.call('GET', KEYS[1])
if held then
  local fence, who = string.match(held, '^(%d+) (.*)$')
  if who ~= ARGV[1] then return {'0', who or ''} end
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {fence, who}
end
-- A server at maxmemory refuses SET, unless the script has begun to write with
-- something that needs no memory.
redis.call('UNLINK', KEYS[1])
local t = redis.call('TIME')
local fence = string.format('%.0f', t[1] * 1000000 + t[2])
redis.call('SET', KEYS[1], fence .. ' ' .. ARGV[1], 'PX', ARGV[2])
return {fence, ARGV[1]}
