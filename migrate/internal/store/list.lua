-- list: reads a page of the records of a key, and the epoch of their part in the same step.
-- KEYS[1] migration
-- KEYS[2] key
-- ARGV[1] part
-- ARGV[2] kind
-- ARGV[3] cursor: "0" at first
-- ARGV[4] given: a ticket that was given before, or 0
-- Returns: {'ok'|'lost'|'type', epoch or '', when the key ends in ms or -1, the next cursor, then of each record
--   its field or member and, but for a member of a set, its value}; a record may be there twice
-- Bound: O(page), 500 records
-- Round trips: 1
local has = redis.call('HMGET', KEYS[1], 'epoch:' .. ARGV[1], 'ticket:' .. ARGV[1])
if not has[1] or tonumber(has[2] or '0') < tonumber(ARGV[4]) then return {'lost', has[1] or '', -1} end
local kinds = {field = 'hash', member = 'set', scored = 'zset'}
local scans = {field = 'HSCAN', member = 'SSCAN', scored = 'ZSCAN'}
local is = redis.call('TYPE', KEYS[2]).ok
if is == 'none' then return {'ok', has[1], -1, '0'} end
if is ~= kinds[ARGV[2]] then return {'type', has[1], -1} end
local page = redis.call(scans[ARGV[2]], KEYS[2], ARGV[3], 'COUNT', 500)
local out = {'ok', has[1], redis.call('PEXPIRETIME', KEYS[2]), page[1]}
for i = 1, #page[2] do out[4 + i] = page[2][i] end
return out
