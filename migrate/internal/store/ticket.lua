-- ticket: gives a number that is later than all before, if the epoch is the one given. It is a time in µs.
-- KEYS[1] migration
-- ARGV[1] part
-- ARGV[2] epoch
-- ARGV[3] given: a ticket that was given before, or 0
-- Returns: {'ok', ticket} or {'lost'|'epoch', the epoch that it has, or ''}
-- Bound: O(1)
-- Round trips: 1
-- include: time
-- include: fence
local has = redis.call('HMGET', KEYS[1], 'epoch:' .. ARGV[1], 'ticket:' .. ARGV[1])
local last = tonumber(has[2] or '0')
if not has[1] or tonumber(has[1]) < tonumber(ARGV[2]) or last < tonumber(ARGV[3]) then return {'lost', has[1] or ''} end
if tonumber(has[1]) > tonumber(ARGV[2]) then return {'epoch', has[1]} end
local _, micros = clock()
local ticket = string.format('%.0f', fence_after(last, micros))
redis.call('HSET', KEYS[1], 'ticket:' .. ARGV[1], ticket)
return {'ok', ticket}
