-- durable: reads what the server says about its memory. As a script it goes to the server that has the queue.
-- KEYS[1] slot: the leases, which are on that server
-- ARGV: none
-- Returns: the text, "" if the user may not ask
-- Bound: O(1)
-- Round trips: 1
local info = redis.pcall('INFO', 'memory')
return type(info) == 'string' and info or ''
