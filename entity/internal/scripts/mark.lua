-- mark: changes the marks of the indexes, if they are what the caller believes.
-- KEYS[1] index_records
-- ARGV[1] before: what it says ('' nothing)
-- ARGV[2] after: what it is to say
-- Returns: {'ok'}, or {'other', what it says}; '' too where there is no index record
-- Bound: O(1)
-- Round trips: 1
-- include: look
local said = look('HGET', KEYS[1], '') or ''
if said ~= ARGV[1] or redis.call('EXISTS', KEYS[1]) == 0 then return {'other', said} end
local left = redis.call('PTTL', KEYS[1])
redis.call('HDEL', KEYS[1], '') -- a full server takes HSET only after what frees memory
redis.call('HSET', KEYS[1], '', ARGV[2])
if left > 0 then redis.call('PEXPIRE', KEYS[1], left) end -- it had nothing else
return {'ok'}
