-- A sign of life. KEYS: info, heartbeat, active. ARGV: id, instance, ttl in ms
local instance = redis.call('HGET', KEYS[1], 'instance')
local alive = redis.call('STRLEN', KEYS[2])
local active = redis.call('SISMEMBER', KEYS[3], ARGV[1])
if instance ~= ARGV[2] or alive == 0 or active == 0 then return 0 end
local now = redis.call('TIME')
redis.call('SET', KEYS[2], string.format('%d', now[1] * 1000 + math.floor(now[2] / 1000)), 'PX', ARGV[3])
return 1
