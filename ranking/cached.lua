-- cached: reads a window that is there.
-- KEYS[1] window
-- ARGV[1] what: see `rows`
-- ARGV[2] a
-- ARGV[3]? b
-- ARGV[4]? c
-- Returns: as read; a place of -1 if the window is not there
-- Bound: that of read
-- Round trips: 1
-- include: rows
if redis.call('PTTL', KEYS[1]) < 0 then return {-1, {}} end
return rows(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
