-- A clean end. KEYS: info, heartbeat, active, zombies. ARGV: id, instance
local instance = redis.call('HGET', KEYS[1], 'instance')
redis.call('SCARD', KEYS[3])
redis.call('SCARD', KEYS[4])
if instance ~= ARGV[2] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('SREM', KEYS[3], ARGV[1])
redis.call('SREM', KEYS[4], ARGV[1])
return 1
