-- due: takes or renews the lease of the sweep, and says whether items are past their expiry.
-- KEYS[1] expires: the expiry zset
-- KEYS[2] lease: of the sweep
-- ARGV[1] sweeper: that asks
-- ARGV[2] lasts: the lease in ms
-- Returns: {'' or ms until the lease of another ends, ms until an item is due ('' none), server time in ms}
-- Bound: O(1)
-- Round trips: 1
-- include: time
-- include: lease
-- include: look
local first, wait = look('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2], ''
local token, _, left = lease_take(KEYS[2], ARGV[1], ARGV[2])
if not token then return {tostring(left), '', ''} end
local ms = clock()
-- In the millisecond of its expiry an item is still there.
if first then wait = string.format('%.0f', math.max(first + 1 - ms, 0)) end
return {'', wait, string.format('%.0f', ms)}
