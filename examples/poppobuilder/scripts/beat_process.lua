-- beat_process: write the heartbeat of a process
-- KEYS: 1 process_info  2 process_heartbeat  3 processes_active
-- ARGV: 1 id  2 instance  3 ttl_ms
-- Returns: 1, or 0 if the process is not the one that began with this id, or is no longer active
-- Round trips: 1
local instance = redis.call('HGET', KEYS[1], 'instance')
local alive = redis.call('STRLEN', KEYS[2])
local active = redis.call('SISMEMBER', KEYS[3], ARGV[1])
if instance ~= ARGV[2] or alive == 0 or active == 0 then return 0 end
local now = redis.call('TIME')
redis.call('SET', KEYS[2], string.format('%d', now[1] * 1000 + math.floor(now[2] / 1000)), 'PX', ARGV[3])
return 1
