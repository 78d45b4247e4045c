-- time: the server's clock.
-- Part.

-- clock returns the server's time in ms and in µs. Both are exact as Lua numbers; `%.0f` writes them.
local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000), t[1] * 1000000 + t[2]
end
