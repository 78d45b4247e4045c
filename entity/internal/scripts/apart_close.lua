#!lua flags=allow-oom
-- apart_close: ends intents, each if the entry was not changed since its owner has read it, then read the item, then
--   acted. Else the intent takes on where the item was put meanwhile, and its owner reads and acts again.
-- KEYS[1] due: the zset of when ids are due
-- KEYS[2] index_records
-- KEYS[3…] stream
-- ARGV[1] grace: ms after which an intent may be taken over
-- ARGV[2] keep: TTL of the index keys in ms ('0' none)
-- ARGV[3] intents: how many
-- ARGV[4…] part: for each its arguments, id, token, stamp
--   how the item was found: 'alive'; 'gone': it has expired if it was known; 'mine': it has expired, known or not;
--   'deleted'; 'abort': nothing was done
--   segments of where it is, ms when it ends at the earliest ('' never), then the events of an item that has expired
-- Returns: for each {verdict, ms, stamp, state, record, ends, segments}: 'ok', 'gone' (announced), 'again', 'lost' (taken
--   over, or closed)
-- Bound: O(intents)
-- Round trips: 1
local grace, lease = tonumber(ARGV[1]), false
-- include: apart_entry
-- include: send

local function announce(at, last)
  while at <= last do
    local parts, body = tonumber(ARGV[at + 7]), {}
    for i = 0, parts - 1 do body[i + 1] = ARGV[at + 8 + 3 * i] end
    send(at + 1, ARGV[at + 2], '{' .. table.concat(body, ',') .. '}', 0)
    at = at + 8 + 3 * parts
  end
end

local deletes = {d = true, x = true}

local function settle(e, intent, a)
  local found = ARGV[a + 4]
  if found == 'alive' then
    e.state, e.record, e.ends = 'x', ARGV[a + 5], ARGV[a + 6]
    return 'ok'
  end
  local known = e.state == 'x' or found == 'mine' and e.state ~= 'k'
  local early = e.ends == '' or ms < tonumber(e.ends)
  local deleting = deletes[intent.k] or intent.k == 'r' -- what a repair finds gone before its time was deleted by hand
  for _, i in ipairs(e.intents) do deleting = deleting or deletes[i.k] end
  local expired = known and found ~= 'deleted' and not (deleting and early)
  if expired then announce(a + 7, a + ARGV[a] - 1) end
  if found == 'deleted' or e.state == 'k' then e.state = 'k' else e.state = '-' end
  e.record, e.ends = '', ''
  return expired and 'gone' or 'ok'
end

local function close(a)
  local id, e, mine = ARGV[a + 1], read(ARGV[a + 1]), nil
  if not e then return {'lost'} end -- a newer program has it
  for n, i in ipairs(e.intents) do
    if i.t == ARGV[a + 2] then mine = n end
  end
  if not mine then return {'lost'} end
  if ARGV[a + 4] ~= 'abort' and e.stamp ~= ARGV[a + 3] then
    local intent = e.intents[mine]
    intent.m = union(intent.m, e.record)
    save(id, e)
    return {'again', now, e.stamp, e.state, e.record, e.ends, intent.m}
  end
  local intent, verdict = table.remove(e.intents, mine), 'ok'
  if ARGV[a + 4] ~= 'abort' then
    verdict = settle(e, intent, a)
    if micros <= (tonumber(e.stamp) or 0) then micros = e.stamp + 1 end
    e.stamp = fmt('%.0f', micros)
  end
  save(id, e)
  return {verdict}
end

local out, a = {}, 4
for i = 1, tonumber(ARGV[3]) do
  out[i] = close(a)
  a = a + ARGV[a]
end
renew(ARGV[2])
return out
