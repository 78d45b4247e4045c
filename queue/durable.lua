-- durable: what the server says about its memory. As a script it goes to the server that has the queue.
-- KEYS[1] leases
-- Returns the text, "" if the user may not ask
-- Round trips: 1. O(1).
local info = redis.pcall('INFO', 'memory')
return type(info) == 'string' and info or ''
