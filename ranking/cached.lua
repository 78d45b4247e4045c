-- cached: read a window that is there (read.lua follows)
-- KEYS: 1 the window
-- ARGV: as read.lua
-- Returns: as read.lua; a place of -1 if the window is not there
-- Round trips: 1
if redis.call('PTTL', KEYS[1]) < 0 then return {-1, {}} end
