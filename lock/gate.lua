-- gate: runs one command on one key, unless a newer holder was here before.
-- KEYS[1] gate: the newest fencing token that was seen
-- KEYS[2] key: of the command
-- ARGV[1] fence: fencing token
-- ARGV[2] ttl: of the gate in ms
-- ARGV[3] command
-- ARGV[4…] argument: of the command, after the key
-- Returns: {1, reply of the command}, or {0, newest fencing token} if a newer one was seen
-- Bound: O(1) and what the command takes
-- Round trips: 1
-- include: fence
local seen = fence_in(redis.pcall('GET', KEYS[1]))
if not seen then return redis.error_reply('ERR the key ' .. KEYS[1] .. ' holds no fencing token of a gate') end
if tonumber(ARGV[1]) < seen then return {0, string.format('%.0f', seen)} end
-- The command goes first: one that fails ends the script here, and leaves no trace.
local reply = redis.call(ARGV[3], KEYS[2], unpack(ARGV, 4))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, reply}
