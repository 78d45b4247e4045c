-- migrate join: says which name a process writes by, and that those of dead processes do not write any more.
-- KEYS[1] the migration
-- ARGV[1] process, ARGV[2] the name that it writes by from now on or '', then dead processes, at most 100
-- Returns 1
-- Round trips: 1. O(processes).
redis.call('HLEN', KEYS[1])
for i = 3, #ARGV do redis.call('HDEL', KEYS[1], 'process:' .. ARGV[i]) end
if ARGV[1] ~= '' then
  if ARGV[2] == '' then
    redis.call('HDEL', KEYS[1], 'process:' .. ARGV[1])
  else
    redis.call('HSET', KEYS[1], 'process:' .. ARGV[1], ARGV[2])
  end
end
return 1
