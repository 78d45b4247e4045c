-- keys: looks at the types of keys before anything is written.
-- Part.
local types = {} -- of keys that were looked at

-- needs refuses a key of another type, before anything is written.
local function needs(key, want)
  local is = types[key] or redis.call('TYPE', key).ok
  if is ~= 'none' then types[key] = is end
  if is ~= want and is ~= 'none' then
    error({err = 'WRONGTYPE Operation against a key holding the wrong kind of value'}, 0)
  end
end

-- drop takes ids out of an index. In a key of another type there is no entry.
local function drop(key, ...)
  local is = types[key] or redis.call('TYPE', key).ok
  if is ~= 'none' then types[key] = is end
  if is == 'zset' then redis.call('ZREM', key, ...) end
end
