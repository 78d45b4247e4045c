-- look: how a script looks at a key for the first time: an error says which key it is about.
-- Part.

-- refuse ends the script with what the server has said of a key. One that is elsewhere while its slot moves is one to
-- try again for.
local function refuse(said, key)
  local name = string.gsub(key, '%c', ' ')
  if string.find(said, 'WRONGTYPE', 1, true) then
    error({err = 'WRONGTYPE the key ' .. name .. ' is of another type than an entity keeps there'}, 0)
  end
  if string.find(said, 'non local key', 1, true) then
    error({err = 'TRYAGAIN the key ' .. name .. ' is elsewhere while its slot moves'}, 0)
  end
  error({err = said}, 0)
end

-- look reads a key.
local function look(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) == 'table' and reply.err then refuse(reply.err, key) end
  return reply
end
