-- join: says which name a process writes by, and that those of dead processes do not write any more.
-- KEYS[1] migration
-- ARGV[1] process
-- ARGV[2] name: that it writes by from now on, or ''
-- ARGV[3…] dead: a dead process
-- Returns: 1
-- Bound: O(processes), 100 processes
-- Round trips: 1
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
