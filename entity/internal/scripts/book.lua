-- book: reads the index record of an id, when it is due by the zset of that, and the server's time, in one step.
-- KEYS[1] due: the zset
-- KEYS[2] index_records
-- ARGV[1] id
-- ARGV[2] scheduled: '1' if items expire
-- Returns: {the index record or '', when the id is due in ms or '', server time in ms}
-- Bound: O(1)
-- Round trips: 1
-- include: time
-- include: look
local score = ARGV[2] == '1' and look('ZSCORE', KEYS[1], ARGV[1])
return {look('HGET', KEYS[2], ARGV[1]) or '', score or '', string.format('%.0f', (clock()))}
