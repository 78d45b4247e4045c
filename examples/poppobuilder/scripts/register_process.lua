-- register_process: a process begins
-- KEYS: 1 process_info  2 process_heartbeat  3 processes_active  4 processes_zombies
-- ARGV: 1 id  2 instance  3 program  4 issue  5 by  6 fence  7 ttl_ms
-- Returns: 1
-- Round trips: 1
redis.call('HLEN', KEYS[1])
redis.call('STRLEN', KEYS[2])
redis.call('SCARD', KEYS[3])
redis.call('SCARD', KEYS[4])
local now = redis.call('TIME')
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'instance', ARGV[2], 'program', ARGV[3], 'issue', ARGV[4], 'task', ARGV[5],
  'fence', ARGV[6], 'state', 'active', 'started', now[1])
redis.call('PEXPIRE', KEYS[1], 604800000)
redis.call('SET', KEYS[2], string.format('%d', now[1] * 1000 + math.floor(now[2] / 1000)), 'PX', ARGV[7])
redis.call('SADD', KEYS[3], ARGV[1])
redis.call('SREM', KEYS[4], ARGV[1])
return 1
