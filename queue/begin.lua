-- begin: says that the handler of a job begins, of which leases have ended without such a word.
-- KEYS[1] runs
-- ARGV[1] id, ARGV[2] token
-- Returns 1, or 0 if the job is not its worker's any more
-- Round trips: 1. O(1).
local run = look(redis.pcall('HGET', KEYS[1], ARGV[1]), KEYS[1])
local r = run and known(run)
if not r or r.owner ~= ARGV[2] then return 0 end
r.doubt = 3
redis.call('HDEL', KEYS[1], '') -- of nothing, and first: a server whose memory is full refuses HSET, unless a script has written already
redis.call('HSET', KEYS[1], ARGV[1], noted(r, r.owner))
return 1
