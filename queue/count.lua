-- count: counts the jobs that came, in the queue's state.
-- Part.
-- include: look
-- counted returns what count needs to know of a state.
local function counted(state) return look(redis.pcall('HMGET', state, 'paused', 'enqueued'), state) end
local function count(state, was, jobs, ttl)
  redis.call('HSET', state, 'enqueued', string.format('%.0f', (tonumber(was[2] or 0) or 0) + jobs))
  if ttl > 0 and not was[1] then redis.call('PEXPIRE', state, ttl) end
end
