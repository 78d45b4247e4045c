-- migrate raise: gives a part of a migration a later epoch, if it has the one before.
-- KEYS[1] the migration
-- ARGV[1] part, ARGV[2] the lowest epoch that it may have, ARGV[3] the new epoch, ARGV[4] the new phase,
-- ARGV[5] "1" if the part may be missing, or have lost data, ARGV[6] a ticket of the part that was given before, or 0
-- Returns {'ok'|'lost'|'ahead', the epoch that it had, or ''}
-- Round trips: 1. O(1).
local has, last = unpack(redis.call('HMGET', KEYS[1], 'epoch:' .. ARGV[1], 'ticket:' .. ARGV[1]), 1, 2)
local t = redis.call('TIME')
local to = tonumber(ARGV[3])
if has and tonumber(has) > to then return {'ahead', has} end
local seen, ticket = tonumber(ARGV[6]), last or '0'
local less = not has or tonumber(has) < tonumber(ARGV[2]) or tonumber(ticket) < seen
if ARGV[5] ~= '1' and less then return {'lost', has or ''} end
if ARGV[5] == '1' then
  ticket = string.format('%.0f', math.max(tonumber(ticket) + 1, seen + 1, t[1] * 1000000 + t[2]))
end
redis.call('HSET', KEYS[1], 'epoch:' .. ARGV[1], ARGV[3], 'phase:' .. ARGV[1], ARGV[4], 'ticket:' .. ARGV[1], ticket)
return {'ok', has or ''}
