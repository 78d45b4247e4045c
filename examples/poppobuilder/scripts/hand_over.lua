-- hand_over: give a task to the agents
-- KEYS: 1 task_outcome  2 task_run  3 task_runs
-- ARGV: 1 id  2 issue  3 kind  4 prompt  5 fence
-- Returns: 1, or 0 if the task runs or has an outcome
-- Round trips: 1
redis.call('XLEN', KEYS[3])
if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then return 0 end
local id = redis.call('XADD', KEYS[3], '*', 'task', ARGV[1], 'issue', ARGV[2], 'kind', ARGV[3], 'prompt', ARGV[4], 'fence', ARGV[5])
redis.call('SET', KEYS[2], id, 'EX', 86400)
return 1
