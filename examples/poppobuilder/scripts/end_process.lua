-- end_process: a process ends in order
-- KEYS: 1 process_info  2 process_heartbeat  3 processes_active  4 processes_zombies
-- ARGV: 1 id  2 instance
-- Returns: 1, or 0 if the process is not the one that began with this id
-- Round trips: 1
local instance = redis.call('HGET', KEYS[1], 'instance')
redis.call('SCARD', KEYS[3])
redis.call('SCARD', KEYS[4])
if instance ~= ARGV[2] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('SREM', KEYS[3], ARGV[1])
redis.call('SREM', KEYS[4], ARGV[1])
return 1
