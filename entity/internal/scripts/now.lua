-- now: reads the clock of the server with the index records.
-- KEYS[1] slot: the index records, which are on that server
-- ARGV: none
-- Returns: the time in ms
-- Bound: O(1)
-- Round trips: 1
-- include: time
return string.format('%.0f', (clock()))
