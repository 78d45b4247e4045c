-- reconcile: brings back jobs that are in no place, see `missing`.
-- KEYS[1] leases
-- KEYS[2] delayed
-- KEYS[3] dead
-- KEYS[4] runs
-- KEYS[5…] key: the lanes, after them the jobs: those that were in no lane when it was read
-- ARGV[1] lanes: how many
-- ARGV[2] lane_names: each with a space after it
-- ARGV[3] near: elements of a lane to look at from each end
-- ARGV[4] channel
-- ARGV[5] database: its number
-- ARGV[6…] id: of a job
-- Returns: the ids of those that were brought back
-- Bound: O(jobs × lanes × elements)
-- Round trips: 1
-- include: missing
local waking = false
for _, p in ipairs(pushed) do waking = waking or lengths[p[1]] == 0 end
if waking then may(ARGV[4]) end
if #leased > 0 then redis.call('ZADD', KEYS[1], unpack(leased)) end
for _, p in ipairs(pushed) do redis.call('RPUSH', KEYS[4 + p[1]], p[2]) end
if waking then redis.call('PUBLISH', ARGV[4], 'ready ' .. ARGV[5]) end
return out
