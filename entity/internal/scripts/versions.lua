-- versions: counts versions on as texts: a Lua number holds no more than 2^53 of them.
-- Part.

-- after is the next version. It refuses what is none, before anything is written.
local function after(version)
  if not string.find(version, '^%d+$') or #version > 19 or #version == 19 and version >= '9223372036854775807' then
    error({err = 'ERR the version of this item is no number, or the last one'}, 0)
  end
  local head, tail = string.sub(version, 1, -10), string.sub(version, -9)
  if tail ~= '999999999' or head == '' then
    if head == '' then return string.format('%.0f', tail + 1) end
    return head .. string.format('%09d', tail + 1)
  end
  return after(head) .. '000000000'
end
