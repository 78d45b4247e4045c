-- bury_process: move a process without heartbeat from the active ones to the zombies
-- KEYS: 1 process_info  2 process_heartbeat  3 processes_active  4 processes_zombies
-- ARGV: 1 id
-- Returns: 1, or 0 if there is a heartbeat, or the process is not active
-- Round trips: 1
redis.call('HLEN', KEYS[1])
redis.call('SCARD', KEYS[4])
local now = redis.call('TIME')
if redis.call('EXISTS', KEYS[2]) == 1 or redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 0 then return 0 end
redis.call('SMOVE', KEYS[3], KEYS[4], ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'state', 'dead', 'found', now[1]) end
return 1
