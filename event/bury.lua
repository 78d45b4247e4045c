-- event bury: makes a message a dead letter and acknowledges it. Only its own consumer decides.
-- KEYS[1] stream, KEYS[2] dead letters
-- ARGV[1] group, ARGV[2] consumer, ARGV[3] id, ARGV[4] dead letters kept, ARGV[5] age kept in ms or 0,
-- ARGV[6] deliveries, ARGV[7] reason, then at most 1,000 fields and values of the message
-- Returns 1, 0 if the message is not the consumer's any more
-- Round trips: 1. O(fields).
local there = redis.pcall('XLEN', KEYS[2])
if type(there) == 'table' then
  local wrong = string.find(there.err, 'WRONGTYPE', 1, true)
  return wrong and redis.error_reply('WRONGTYPE the key ' .. KEYS[2] .. ' holds no stream') or there
end
if not redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1, ARGV[2])[1] then
  return 0
end
local letter = {'MAXLEN', '~', ARGV[4], '*', 'form', '1', 'id', ARGV[3], 'group', ARGV[1], 'reason', ARGV[7]}
letter[#letter + 1] = 'deliveries'
letter[#letter + 1] = ARGV[6]
for i = 8, math.min(#ARGV, 1007) do letter[#letter + 1] = ARGV[i] end
redis.call('XADD', KEYS[2], unpack(letter))
if ARGV[5] ~= '0' then redis.call('PEXPIRE', KEYS[2], ARGV[5]) end
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
return 1
