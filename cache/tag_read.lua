-- tag_read: some keys of a tag, and drop some of the dead
-- KEYS: 1 the tag
-- ARGV: 1 lowest score, 0 to begin  2 how many at most
-- Returns: {the highest score of all, key, score, key, score …}, by rising score
-- Round trips: 1
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or '0'
local from = tonumber(ARGV[1]) > tonumber(now) and ARGV[1] or now
local out = redis.call('ZRANGEBYSCORE', KEYS[1], from, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local dead = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. now, 'LIMIT', 0, ARGV[2])
if #dead > 0 then
  redis.call('ZREM', KEYS[1], unpack(dead))
end
table.insert(out, 1, last)
return out
