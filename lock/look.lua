-- look: what all scripts have in common that look at a lock. Its scripts have KEYS[2] fence.
-- Part.
-- include: time
-- include: fence

-- Reads a key; the error of one that is of another type names it.
local function read(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) == 'table' and reply.err then
    if string.find(reply.err, 'WRONGTYPE', 1, true) then
      reply = {err = 'WRONGTYPE the key ' .. key .. ' is of another type than a lock keeps there'}
    end
    error(reply)
  end
  return reply
end

-- The last fencing token, 0 if there is none.
local function last_fence()
  local last = fence_in(read('GET', KEYS[2]))
  if not last then error({err = 'ERR the key ' .. KEYS[2] .. ' holds no fencing token of a lock'}) end
  return last
end
