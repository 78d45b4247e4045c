-- emit: sends the events of a call of `write` or `apart_item`, which are among its arguments.
-- Part.
-- include: send

-- texts gives pieces of an event, from the fields of the item, or as they will be; those whose field is missing are left out.
local function texts(hash, id, at, parts, fresh)
  local out, n = {}, 0
  for i = at, at + 3 * parts - 1, 3 do
    local field, form, text = ARGV[i + 1], ARGV[i + 2], ''
    if field == '#' then
      text = id
    elseif field ~= '' then
      text = fresh and fresh[field] or call('HGET', hash, field)
    end
    if text then
      if form == 'q' then text = cjson.encode(text) end
      n = n + 1
      out[n] = ARGV[i] .. text
    end
  end
  return out
end

-- emit sends those events of a call that are for one case; they begin at argument `at`.
local function emit(hash, id, k, at, last, case)
  while at <= last do
    local name, parts = tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7])
    if ARGV[at] == case then
      local target = ARGV[at + 2]
      if name > 0 then target = table.concat(texts(hash, id, at + 8, name)) end
      send(at + 1, target, '{' .. table.concat(texts(hash, id, at + 8 + 3 * name, parts), ',') .. '}', k)
    end
    at = at + 8 + 3 * (name + parts)
  end
end

-- ready refuses a write whose events cannot be sent. The fields that it writes are the arguments from `first` to `final`.
local function ready(hash, id, k, at, last, case, first, final)
  while at <= last do
    local name, parts = tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7])
    if ARGV[at] == case then
      local target = ARGV[at + 2]
      if name > 0 then
        local fresh = {}
        for i = first, final, 2 do if first > 0 then fresh[ARGV[i]] = ARGV[i + 1] end end
        target = table.concat(texts(hash, id, at + 8, name, fresh))
      end
      sendable(at + 1, target, k)
    end
    at = at + 8 + 3 * (name + parts)
  end
end
