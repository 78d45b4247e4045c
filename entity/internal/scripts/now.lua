-- now: reads the clock of the server that has the ledger.
-- KEYS[1] slot: the ledger, which is on that server
-- ARGV: none
-- Returns: the time in ms
-- Bound: O(1)
-- Round trips: 1
-- include: time
return string.format('%.0f', (clock()))
