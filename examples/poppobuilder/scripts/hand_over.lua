-- hand_over: give a task to the agents, and count the call of this hour
-- KEYS: 1 task_outcome  2 task_run  3 task_runs  4 metrics_github_calls
-- ARGV: 1 id  2 issue  3 kind  4 prompt  5 fence  6 limit
-- Returns: handed; there, if it is with the agents; done, if it has an outcome; rate, if the calls are
--   used up; full, if the agents have 10000 runs before them
-- Round trips: 1
local waiting = redis.call('XLEN', KEYS[3])
local run = redis.call('GET', KEYS[2])
local calls = tonumber(redis.call('GET', KEYS[4]) or '0')
if redis.call('EXISTS', KEYS[1]) == 1 then return 'done' end
if run and #redis.call('XRANGE', KEYS[3], run, run) == 1 then
  redis.call('EXPIRE', KEYS[2], 86400)
  return 'there'
end
if not calls then return redis.error_reply('ERR the calls of this hour are no number') end
if calls >= tonumber(ARGV[6]) then return 'rate' end
if waiting >= 10000 then return 'full' end
redis.call('INCR', KEYS[4])
redis.call('EXPIRE', KEYS[4], 7200, 'NX')
local id = redis.call('XADD', KEYS[3], '*', 'task', ARGV[1], 'issue', ARGV[2], 'kind', ARGV[3],
  'prompt', ARGV[4], 'fence', ARGV[5])
redis.call('SET', KEYS[2], id, 'EX', 86400)
return 'handed'
