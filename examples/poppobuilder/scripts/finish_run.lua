-- What an agent says about a task, once. KEYS: outcome, run, stream of runs
-- ARGV: group, entry, outcome, ttl in ms, channel, event
redis.call('XLEN', KEYS[3])
local first = redis.call('EXISTS', KEYS[1]) == 0
redis.call('XACK', KEYS[3], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[3], ARGV[2])
redis.call('DEL', KEYS[2])
if first then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
  redis.call('PUBLISH', ARGV[5], ARGV[6])
end
return first and 1 or 0
