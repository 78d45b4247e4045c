-- A task before the agents. KEYS: outcome, run, stream of runs
-- ARGV: task, issue, kind, prompt, fence
redis.call('XLEN', KEYS[3])
if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then return 0 end
local id = redis.call('XADD', KEYS[3], '*', 'task', ARGV[1], 'issue', ARGV[2], 'kind', ARGV[3], 'prompt', ARGV[4], 'fence', ARGV[5])
redis.call('SET', KEYS[2], id, 'EX', 86400)
return 1
