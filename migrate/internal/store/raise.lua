-- raise: gives a part of a migration a later epoch, if it has the one before.
-- KEYS[1] migration
-- ARGV[1] part
-- ARGV[2] lowest: the lowest epoch that it may have
-- ARGV[3] epoch: the new one
-- ARGV[4] phase: the new one
-- ARGV[5] loses: "1" if the part may be missing, or have lost data
-- ARGV[6] given: a ticket of the part that was given before, or 0
-- Returns: {'ok'|'lost'|'ahead', the epoch that it had, or ''}
-- Bound: O(1)
-- Round trips: 1
-- include: time
-- include: fence
local has, last = unpack(redis.call('HMGET', KEYS[1], 'epoch:' .. part, 'ticket:' .. part), 1, 2)
local _, micros = clock()
local to = tonumber(epoch)
if has and tonumber(has) > to then return {'ahead', has} end
local seen, ticket = tonumber(given), last or '0'
local less = not has or tonumber(has) < tonumber(lowest) or tonumber(ticket) < seen
if loses ~= '1' and less then return {'lost', has or ''} end
if loses == '1' then
  ticket = string.format('%.0f', fence_after(math.max(tonumber(ticket), seen), micros))
end
redis.call('HSET', KEYS[1], 'epoch:' .. part, epoch, 'phase:' .. part, phase, 'ticket:' .. part, ticket)
return {'ok', has or ''}
