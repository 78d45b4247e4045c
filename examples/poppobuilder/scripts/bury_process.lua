-- From the active to the zombies, if there is no heartbeat.
-- KEYS: info, heartbeat, active, zombies. ARGV: id
redis.call('HLEN', KEYS[1])
redis.call('SCARD', KEYS[4])
local now = redis.call('TIME')
if redis.call('EXISTS', KEYS[2]) == 1 or redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 0 then return 0 end
redis.call('SMOVE', KEYS[3], KEYS[4], ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'state', 'dead', 'found', now[1]) end
return 1
