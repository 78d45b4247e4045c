-- apart_entry: reads and writes the index record of an id, where an entity is in several slots.
-- Its scripts have KEYS[1] the zset of when ids are due: of expiry times and open intents, KEYS[2] the index records;
-- `grace` in ms, and in `lease` whether KEYS[3] is a lease, and no stream.
-- An entry is '=' and segments `name=length:text`. Those named after an index are where the item is; the others:
--   '#' a stamp, another one after every change; '@' ms when the item ends, at the earliest ('' never);
--   '~' 'x' there is an item, 'k' one was deleted while others wrote, '-' none
--   '!' an open intent, of segments: 't' its token, 'o' ms when it was opened,
--     'k' its kind ('w' write, 'd' delete, 't' a TTL, 'r' repair; of a sweep 't', 's', 'x', see `apart_due`),
--     'm' the segments of where its owner may put or remove the id,
--     'b' the builders that were at work when it was opened (no such segment: none)
-- Part.
-- include: time
-- include: look
local call, fmt = redis.call, string.format
local due, index_records = KEYS[1], KEYS[2]
look('ZCARD', due) -- of another type it is refused before anything is written
for i = 3, #KEYS do -- streams
  local is = call('TYPE', KEYS[i]).ok
  if is ~= 'stream' and is ~= 'none' and not lease then
    refuse('WRONGTYPE', KEYS[i])
  end
end
local ms, micros = clock()
local now = fmt('%.0f', ms)

-- include: marks
local said = look('HGET', index_records, '')
if foreign(said) then return redis.error_reply(newer) end

-- opened is an intent of this moment.
local function opened(token, kind, members)
  local builders = ''
  for b in string.gmatch(said and '\n' .. string.sub(said, 17) or '', '\n~(........)') do
    if not string.find(builders, b, 1, true) then builders = builders .. b end
  end
  return {t = token, o = now, k = kind, m = members, b = builders ~= '' and builders or nil}
end

local function segment(name, text) return name .. '=' .. #text .. ':' .. text end

-- segments calls each(name, text, both) for every segment.
local function segments(text, at, each)
  while at <= #text do
    local from, to, name, size = string.find(text, '^([^=]*)=(%d+):', at)
    if not from then return end
    at = to + 1 + tonumber(size)
    each(name, string.sub(text, to + 1, at - 1), string.sub(text, from, at - 1))
  end
end

local function union(a, b)
  local seen = {}
  segments(a, 1, function(_, _, both) seen[both] = true end)
  segments(b, 1, function(_, _, both)
    if not seen[both] then
      seen[both] = true
      a = a .. both
    end
  end)
  return a
end

-- read gives an entry, or nil where it is of another form.
local function read(id)
  local e = {stamp = '', state = '-', record = '', ends = '', intents = {}}
  local text = call('HGET', index_records, id)
  if not text then return e end
  if foreign(nil, text) then return nil end
  e.state = 'x'
  segments(text, 2, function(name, value, both)
    if name == '#' then
      e.stamp = value
    elseif name == '@' then
      e.ends = value
    elseif name == '~' then
      e.state = value
    elseif name == '!' then
      local i = {}
      segments(value, 1, function(n, v) i[n] = v end)
      e.intents[#e.intents + 1] = i
    else
      e.record = e.record .. both
    end
  end)
  return e
end

-- schedule says when a sweeper must look at an id; never without a time.
local function schedule(id, at)
  if at then call('ZADD', due, fmt('%.0f', at), id) else call('ZREM', due, id) end
end

local function save(id, e)
  local next = e.state == 'x' and tonumber(e.ends) or nil
  local out = {'=' .. segment('#', e.stamp) .. segment('@', e.ends) .. segment('~', e.state) .. e.record}
  for n, i in ipairs(e.intents) do
    local text = segment('t', i.t) .. segment('o', i.o) .. segment('k', i.k) .. segment('m', i.m)
    out[n + 1] = segment('!', i.b and text .. segment('b', i.b) or text)
    local over = i.o + grace
    if not next or over < next then next = over end
  end
  if #e.intents == 0 and e.state ~= 'x' then
    call('HDEL', index_records, id)
    tidy(index_records)
  else
    call('HSET', index_records, id, table.concat(out))
  end
  schedule(id, next)
end

local function renew(keep)
  if keep == '0' then return end
  call('PEXPIRE', index_records, keep)
  call('PEXPIRE', due, keep)
end
