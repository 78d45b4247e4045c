-- append: adds a message to a stream with the server's time, and trims what the policy no longer keeps.
-- KEYS[1] stream
-- ARGV[1] data: JSON
-- ARGV[2] kept: entries kept, or 0
-- ARGV[3] age: ms for which one is kept, or 0
-- ARGV[4] plain: "1" for the data alone
-- Returns: the id of the entry
-- Bound: O(1), and O(entries trimmed)
-- Round trips: 1
-- include: time
local now = clock()
local entry = {'*', 'data', ARGV[1]}
if ARGV[4] ~= '1' then
  entry = {'*', 'timestamp', string.format('%.0f', now), 'data', ARGV[1]}
end
local id
if ARGV[2] ~= '0' then
  id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], unpack(entry))
else
  id = redis.call('XADD', KEYS[1], unpack(entry))
end
if ARGV[3] ~= '0' then
  redis.call('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f', now - tonumber(ARGV[3])))
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return id
