-- remember: put a key into the sets of its tags (a function for the scripts below it)
-- The score is when the key will be dead, in µs of the server's clock, and grows with
-- every call: who read one score and finds another knows that the key was written since.
-- A set lives as long as its last member. Each call drops up to eight of its dead, so
-- that a tag which is never invalidated does not grow with what has long expired.
local function remember(first, span, member)
  if not KEYS[first] then
    return
  end
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  for i = first, #KEYS do
    local dead = redis.call('ZRANGEBYSCORE', KEYS[i], '-inf', string.format('%.0f', now), 'LIMIT', 0, 8)
    if #dead > 0 then
      redis.call('ZREM', KEYS[i], unpack(dead))
    end
    local old = tonumber(redis.call('ZSCORE', KEYS[i], member) or 0)
    redis.call('ZADD', KEYS[i], string.format('%.0f', math.max(now + span, old + 1)), member)
    local last = redis.call('ZREVRANGE', KEYS[i], 0, 0, 'WITHSCORES')[2]
    redis.call('PEXPIREAT', KEYS[i], string.format('%.0f', math.ceil(last / 1000)))
  end
end
