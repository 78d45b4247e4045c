-- fence: numbers that only grow: fencing tokens, versions, tickets.
-- Part.

-- fence_in returns the number that a key holds, 0 where there is none (false); nil if it is no number of this form,
-- or one that a Lua number does not hold exactly.
local function fence_in(text)
  if not text then return 0 end
  local n = type(text) == 'string' and #text <= 16 and string.find(text, '^%d+$') and tonumber(text)
  if n and n < 2 ^ 53 then return n end
end

-- fence_after returns the number after the last one: never below the clock in µs, and never the same twice, also when
-- a failover has brought back an old one or the clock was put back.
local function fence_after(last, micros) return math.max(last + 1, micros) end
