-- A process begins. KEYS: info, heartbeat, active, zombies
-- ARGV: id, instance, program, issue, task, fence, ttl of the heartbeat in ms
redis.call('HLEN', KEYS[1])
redis.call('STRLEN', KEYS[2])
redis.call('SCARD', KEYS[3])
redis.call('SCARD', KEYS[4])
local now = redis.call('TIME')
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'instance', ARGV[2], 'program', ARGV[3], 'issue', ARGV[4], 'task', ARGV[5], 'fence', ARGV[6], 'state', 'active', 'started', now[1])
redis.call('PEXPIRE', KEYS[1], 604800000)
redis.call('SET', KEYS[2], string.format('%d', now[1] * 1000 + math.floor(now[2] / 1000)), 'PX', ARGV[7])
redis.call('SADD', KEYS[3], ARGV[1])
redis.call('SREM', KEYS[4], ARGV[1])
return 1
