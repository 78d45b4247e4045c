#!lua flags=allow-oom
-- apart_due: takes or renews the lease of the sweep, and opens intents for items that are past their expiry, and for
--   those whose intents are due: it takes these over.
-- KEYS[1] due: the zset of when ids are due
-- KEYS[2] index_records
-- KEYS[3]? lease: of the sweep (absent if items never expire)
-- ARGV[1] grace: ms after which an intent may be taken over
-- ARGV[2] sweeper: that asks
-- ARGV[3] token: of the intents
-- ARGV[4] lasts: the lease in ms
-- ARGV[5] most: items, at most
-- ARGV[6] passed: how many of those that are due are passed over
-- Returns: {{'' or ms until the lease of another ends, ms until an item is due ('' none)},
--   {id, token, kind, ms, stamp, state, record, ends, segments}, …}; {id} alone is passed over: it is of a form that
--   this script does not know
--   kind: 't' no process was about to change the item; 's' the intent of such a process was taken over, 'x' one that
--   was about to delete it
-- Bound: O(most)
-- Round trips: 1
local grace, lease = tonumber(grace), true
-- include: apart_entry
-- include: lease
local ids = call('ZRANGE', due, '-inf', now, 'BYSCORE', 'LIMIT', passed, most)
local first = call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
if #ids > 0 then call('HGET', index_records, ids[1]) end -- of another type it is refused here
if KEYS[3] then
  local token, _, left = lease_take(KEYS[3], sweeper, lasts)
  if not token then return {{tostring(left), ''}} end
end

local function take(id, e)
  local members, kind = '', 't'
  for i = #e.intents, 1, -1 do
    if e.intents[i].o + grace <= ms then
      local over = table.remove(e.intents, i)
      members = union(members, over.m)
      if over.k == 'd' or over.k == 'x' then kind = 'x' elseif over.k ~= 't' and kind == 't' then kind = 's' end
    end
  end
  members = union(members, e.record)
  e.intents[#e.intents + 1] = opened(token, kind, members)
  save(id, e)
  return {id, token, kind, now, e.stamp, e.state, e.record, e.ends, members}
end

local out = {{'', first and fmt('%.0f', math.max(first - ms, 0)) or ''}}
for n, id in ipairs(ids) do
  local e = read(id)
  out[n + 1] = e and take(id, e) or {id}
end
return out
