-- share: lets readers in next to one that holds the lock together with others.
-- KEYS[1] shared
-- KEYS[2] fence
-- ARGV[1] token: of the one that holds it
-- ARGV[2] keep: TTL of fence and shared in ms
-- ARGV[3…] lease, token: per reader, lease in ms
-- Returns: {1, fence of the first reader, 0, 0}, those of the others follow one by one; or {0, 0, 0, 0} if that one
--   holds it no more
-- Bound: O(readers × log(holders together)), 250 readers
-- Round trips: 1
-- include: time
-- include: fence
local millis, micros = clock()
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= millis then return {0, 0, 0, 0} end
local last = fence_in(redis.call('GET', KEYS[2]))
if not last or last + #ARGV >= 2 ^ 53 then return {0, 0, 0, 0} end
local fence = fence_after(last, micros)
local longest = math.max(tonumber(ARGV[2]), redis.call('PTTL', KEYS[1]))
local holders = {}
for i = 3, #ARGV, 2 do
  longest = math.max(longest, tonumber(ARGV[i]))
  holders[i - 2], holders[i - 1] = millis + ARGV[i], ARGV[i + 1]
end
-- The TTL comes first: after it a server without memory takes the rest.
redis.call('PEXPIRE', KEYS[1], longest)
redis.call('ZADD', KEYS[1], unpack(holders))
redis.call('SET', KEYS[2], string.format('%.0f', fence + #holders / 2 - 1), 'PX', ARGV[2])
return {1, string.format('%.0f', fence), 0, 0}
