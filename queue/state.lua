-- state: how a job is doing.
-- KEYS[1] the job, KEYS[2] runs
-- ARGV[1] its id
-- Returns {whether it is there, what is known of its runs}
-- Round trips: 1. O(1).
return { redis.call('EXISTS', KEYS[1]), redis.call('HGET', KEYS[2], ARGV[1]) or '' }
