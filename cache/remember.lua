-- remember: puts a key into the sets of its tags.
-- The score is when the key will be dead, in µs of the server's clock, and grows with every call: a caller that has
-- read one score and finds another knows that the key was written since. A set lives as long as its last member. Each
-- call drops up to eight of its dead, so that a tag which is never invalidated does not grow with what has long expired.
-- Part.
-- include: time
-- include: fence
-- include: asked

-- plan reads all the tags before anything is written; it gives what remember is to write, or
-- nil and an error
local function plan(first, span, member)
  local writes = {}
  if not KEYS[first] then
    return writes
  end
  local _, now = clock()
  for i = first, #KEYS do
    local old, wrong = asked('ZSCORE', KEYS[i], member)
    if wrong then
      return nil, wrong
    end
    local score = fence_after(tonumber(old or 0), now + span)
    local last = redis.call('ZREVRANGE', KEYS[i], 0, 0, 'WITHSCORES')[2] or 0
    writes[#writes + 1] = {
      key = KEYS[i],
      dead = redis.call('ZRANGEBYSCORE', KEYS[i], '-inf', string.format('%.0f', now), 'LIMIT', 0, 8),
      score = string.format('%.0f', score),
      ends = string.format('%.0f', math.ceil(math.max(score, last) / 1000)),
    }
  end
  return writes
end

local function remember(writes, member)
  for _, w in ipairs(writes) do
    redis.call('ZADD', w.key, w.score, member)
    local dead = {}
    for _, m in ipairs(w.dead) do
      if m ~= member then dead[#dead + 1] = m end
    end
    if #dead > 0 then
      redis.call('ZREM', w.key, unpack(dead))
    end
    redis.call('PEXPIREAT', w.key, w.ends)
  end
end
