-- bury: makes a message a dead letter, once. Only its own consumer decides. A message that is one has so many
--   deliveries that it is known until it is acknowledged: this is asked again after a lost reply.
-- KEYS[1] stream
-- KEYS[2] dead: dead letters
-- ARGV[1] group
-- ARGV[2] consumer
-- ARGV[3] id
-- ARGV[4] kept: dead letters kept
-- ARGV[5] age: ms for which one is kept, or 0
-- ARGV[6] deliveries
-- ARGV[7] reason
-- ARGV[8…] part: fields and values of the message, in turns
-- Returns: 1, 0 if the message is not the consumer's any more
-- Bound: O(fields), 1,000 fields and values
-- Round trips: 1
-- include: buried
local there = redis.pcall('XLEN', KEYS[2])
if type(there) == 'table' then
  local wrong = string.find(there.err, 'WRONGTYPE', 1, true)
  return wrong and redis.error_reply('WRONGTYPE the key ' .. KEYS[2] .. ' holds no stream') or there
end
local mine = redis.call('XPENDING', KEYS[1], group, id, id, 1, consumer)[1]
if not mine then
  return 0
end
if mine[4] >= buried then
  return 1
end
local letter = {'MAXLEN', '~', kept, '*', 'form', '1', 'id', id, 'group', group, 'reason', reason}
letter[#letter + 1] = 'deliveries'
letter[#letter + 1] = deliveries
for i = 8, math.min(#ARGV, 1007) do letter[#letter + 1] = ARGV[i] end
redis.call('XADD', KEYS[2], unpack(letter))
if age ~= '0' then redis.call('PEXPIRE', KEYS[2], age) end
redis.call('XCLAIM', KEYS[1], group, consumer, 0, id, 'RETRYCOUNT', string.format('%.0f', buried), 'JUSTID')
return 1
