-- state: says how a job is doing.
-- KEYS[1] job
-- KEYS[2] runs
-- ARGV[1] id
-- Returns: {whether it is there, what is known of its runs}
-- Bound: O(1)
-- Round trips: 1
return { redis.call('EXISTS', KEYS[1]), redis.call('HGET', KEYS[2], ARGV[1]) or '' }
