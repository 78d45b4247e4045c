-- keys: looks at the types of keys before anything is written.
-- Part.
-- include: look
local types = {} -- of keys that were looked at

-- kind is the type of a key.
local function kind(key)
  local is = types[key] or redis.call('TYPE', key).ok
  if is ~= 'none' then types[key] = is end
  return is
end

-- needs refuses a key of another type, before anything is written.
local function needs(key, want)
  local is = kind(key)
  if is ~= want and is ~= 'none' then
    refuse('WRONGTYPE', key)
  end
end

-- drop takes ids out of an index. In a key of another type there is no entry.
local function drop(key, ...)
  if kind(key) == 'zset' then redis.call('ZREM', key, ...) end
end
