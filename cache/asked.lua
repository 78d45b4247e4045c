-- asked: commands that look at a key, and refusals that name it.
-- Part.

-- asked is the reply to a command, or an error that names the key
local function asked(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) == 'table' and reply.err then
    return nil, {err = reply.err .. ' (key ' .. key .. ')'}
  end
  return reply
end
