-- same: compares an item with what was read of it.
-- Part.

-- same is whether a hash has the fields of a condition with these texts, and no others: '=' and how many, then for each
-- the length of its name, SHA-1 of its text in hex, its name.
local function same(hash, condition)
  local _, at, fields = string.find(condition, '^=(%d+) ')
  if call('HLEN', hash) ~= tonumber(fields) then return false end
  for _ = 1, tonumber(fields) do
    local _, to, length = string.find(condition, '^(%d+) ', at + 1)
    at = to + 40 + length
    local text = call('HGET', hash, string.sub(condition, to + 41, at))
    if not text or redis.sha1hex(text) ~= string.sub(condition, to + 1, to + 40) then return false end
  end
  return true
end
