#!lua flags=allow-oom
-- apart_open: notes an intent, before anything is done: of a process that dies after this step the rest is cleaned up. A
--   second time it renews it.
-- It goes through on a full server, so that what frees memory can begin; an item that takes memory is refused in the
-- next step.
-- KEYS[1] due: the zset of when ids are due
-- KEYS[2] index_records
-- ARGV[1] grace: ms after which an intent may be taken over
-- ARGV[2] keep: TTL of the index keys in ms ('0' none)
-- ARGV[3] id
-- ARGV[4] token
-- ARGV[5] kind: 'w' write, 'd' delete, 't' a TTL, 'r' repair
-- ARGV[6] members: segments of where the item will be
-- ARGV[7] agreed: what the writer knows of indexes as a whole, see `marks` ('' it changes no field)
-- Returns: {'indexes', what is said of them}, or {ms, stamp, state, record, ends, segments of where it may be}
-- Bound: O(open intents of the id)
-- Round trips: 1
local grace, lease = tonumber(grace), false
-- include: apart_entry
local e = read(id)
if not e then return redis.error_reply(newer) end
if agreed ~= '' then
  local other, begins = disagreement(index_records, agreed, look('HGET', index_records, ''))
  if other then return {'indexes', other} end
  if begins then begin(index_records, agreed) end
end
for n = #e.intents, 1, -1 do
  if e.intents[n].t == token then members = union(members, table.remove(e.intents, n).m) end
end
members = union(members, e.record)
e.intents[#e.intents + 1] = opened(token, kind, members)
save(id, e)
renew(keep)
return {now, e.stamp, e.state, e.record, e.ends, members}
