-- tag_read: gives some keys of a tag, and drops some of the dead.
-- KEYS[1] tag
-- ARGV[1] lowest: score, 0 to begin
-- ARGV[2] most: how many at most
-- Returns: {the highest score of all, key, score, key, score …}, by rising score
-- Bound: O(log N) per key, `most` of each kind
-- Round trips: 1
-- include: time
local _, micros = clock()
local now = string.format('%.0f', micros)
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or '0'
local from = tonumber(ARGV[1]) > tonumber(now) and ARGV[1] or now
local out = redis.call('ZRANGEBYSCORE', KEYS[1], from, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local dead = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. now, 'LIMIT', 0, ARGV[2])
if #dead > 0 then
  redis.call('ZREM', KEYS[1], unpack(dead))
end
table.insert(out, 1, last)
return out
