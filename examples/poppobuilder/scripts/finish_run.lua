-- finish_run: write what an agent says about a task, once
-- KEYS: 1 task_outcome  2 task_run  3 task_runs
-- ARGV: 1 group  2 entry  3 outcome  4 ttl_ms  5 channel  6 event
-- Returns: 1, or 0 if the task has an outcome already
-- Round trips: 1
redis.call('XLEN', KEYS[3])
local first = redis.call('EXISTS', KEYS[1]) == 0
if first then redis.call('PUBLISH', ARGV[5], ARGV[6]) end -- may be refused: then nothing is written
redis.call('XACK', KEYS[3], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[3], ARGV[2])
redis.call('DEL', KEYS[2])
if first then redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4]) end
return first and 1 or 0
