-- gate: one command on one key, unless a newer holder was here before.
-- KEYS[1] gate: the newest fencing token that was seen, KEYS[2] the key of the command
-- ARGV[1] fencing token, ARGV[2] TTL of the gate in ms, ARGV[3] command, ARGV[4…] its arguments after the key
-- Returns {1, reply of the command}, or {0, newest fencing token} if a newer one was seen
-- Round trips: 1. O(1) and what the command takes.
local text = redis.pcall('GET', KEYS[1]) or '0'
if type(text) == 'table' or not string.find(text, '^%d+$') or tonumber(text) >= 2 ^ 53 then
  return redis.error_reply('ERR the key ' .. KEYS[1] .. ' holds no fencing token of a gate')
end
local seen = tonumber(text)
if tonumber(ARGV[1]) < seen then return {0, string.format('%.0f', seen)} end
-- The command goes first: one that fails ends the script here, and leaves no trace.
local reply = redis.call(ARGV[3], KEYS[2], unpack(ARGV, 4))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {1, reply}
