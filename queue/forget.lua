-- forget: drops what is known of jobs that are gone, which eviction, DEL by hand or the TTL of a job can leave.
-- KEYS[1] runs, behind it the jobs
-- ARGV per job: its id
-- Returns how many were dropped
-- Round trips: 1. O(jobs).
local dropped = 0
for i, id in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[1 + i]) == 0 then dropped = dropped + redis.call('HDEL', KEYS[1], id) end
end
return dropped
