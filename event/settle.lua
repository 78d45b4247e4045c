-- event settle: what becomes of a message whose handler has failed. Only its own consumer decides.
-- KEYS[1] stream, KEYS[2] dead letters
-- ARGV[1] group, ARGV[2] consumer, ARGV[3] id, ARGV[4] again, bury or release, ARGV[5] reason, ARGV[6] dead letters kept,
-- ARGV[7] age kept in ms or 0, ARGV[8] ms after which others claim
-- Returns the deliveries so far, 0 if it is not its own any more
-- Round trips: 1
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1, ARGV[2])[1]
if not pending then
  return 0
end
if ARGV[4] == 'again' then -- counts the next delivery
  redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3])
  return pending[4] + 1
elseif ARGV[4] == 'release' then -- not counted, and at once anybody's
  redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'IDLE', ARGV[8], 'RETRYCOUNT', math.max(pending[4] - 1, 0), 'JUSTID')
  return pending[4]
end
local entry = redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3])[1]
local fields = {'id', ARGV[3], 'group', ARGV[1], 'reason', ARGV[5], 'deliveries', pending[4]}
if entry then
  for i = 1, #entry[2] do fields[#fields + 1] = entry[2][i] end
end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[6], '*', unpack(fields))
if ARGV[7] ~= '0' then redis.call('PEXPIRE', KEYS[2], ARGV[7]) end
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
return pending[4]
