-- renew: makes the lease of a holder last as long again.
-- KEYS[1] hold: main, or shared if it is held together with others
-- KEYS[2]? fence: only now and then
-- ARGV[1] token
-- ARGV[2] lease: in ms
-- ARGV[3] kind: "x" alone or "s" together with others
-- ARGV[4] keep: TTL of fence and shared in ms
-- Returns: {1, 0, lease in ms, 0}, or {0, 0, 0, 0} if it is not held any more
-- Bound: O(1), together with others O(log(holders))
-- Round trips: 1
-- include: time
local hold, token, lease = KEYS[1], ARGV[1], ARGV[2]
-- A key of another type holds no lease.
local function read(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' then return reply end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
end
if ARGV[3] == 'x' then
  if read('GET', hold) ~= token then return {0, 0, 0, 0} end
  redis.call('PEXPIRE', hold, lease)
else
  local millis = clock()
  local ends = read('ZSCORE', hold, token)
  if not ends or tonumber(ends) <= millis then return {0, 0, 0, 0} end
  -- The TTL comes first: after it a server without memory takes the rest.
  redis.call('PEXPIRE', hold, math.max(tonumber(ARGV[4]), tonumber(lease), redis.call('PTTL', hold)))
  redis.call('ZADD', hold, millis + lease, token)
end
if KEYS[2] then redis.call('PEXPIRE', KEYS[2], ARGV[4]) end
return {1, 0, lease, 0}
