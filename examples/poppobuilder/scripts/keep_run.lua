-- keep_run: keep a run from being taken over, if it was not
-- KEYS: 1 task_runs
-- ARGV: 1 group  2 consumer  3 entry
-- Returns: 1, or 0 if another agent has it, or none
-- Round trips: 1
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)[1]
if not pending or pending[2] ~= ARGV[2] then return 0 end
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'JUSTID')
return 1
