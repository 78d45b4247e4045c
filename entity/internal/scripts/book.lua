-- book: reads what the ledger and the zset of when ids are due say of an id, and the server's time, in one step.
-- KEYS[1] due: the zset
-- KEYS[2] ledger
-- ARGV[1] id
-- ARGV[2] scheduled: '1' if items expire
-- Returns: {what the ledger says or '', when the id is due in ms or '', server time in ms}
-- Bound: O(1)
-- Round trips: 1
-- include: time
-- include: look
local score = ARGV[2] == '1' and look('ZSCORE', KEYS[1], ARGV[1])
return {look('HGET', KEYS[2], ARGV[1]) or '', score or '', string.format('%.0f', (clock()))}
