-- apart_item: writes or deletes an item's hash and announces it, if its condition holds and the intent of its writer is
--   not old.
-- KEYS[1] hash: the item's
-- KEYS[2…] stream: those that its arguments name by number
-- ARGV[1] id
-- ARGV[2] deadline: ms by this server's clock until when
-- ARGV[3] verb: 'w' or 'd'
-- ARGV[4] condition: 'absent', 'present', 'any', the version that the item must have, '@field=text' that it must have,
--   or all its texts (see `same`)
-- ARGV[5] listed: '1' if the id has an index record: its item must be swept before a new one is made
-- ARGV[6] ttl: in ms ('' leaves it, '0' none, '+' before it: only if less is left)
-- ARGV[7] created: '1' if the first field is when it was created
-- ARGV[8] vfield: the name of the next one if it is the version ('' none)
-- ARGV[9] updated: '1' if the next one is when it was updated
-- ARGV[10] unit: the divisor of ms for the times
-- ARGV[11] sets: texts of fields
-- ARGV[12] unsets: fields to remove
-- ARGV[13] shows: fields to read
-- ARGV[14…] part: these, then events as `write` has them
-- Returns: {code, version, ms, ms until it ends (-1 never), text, …}: 'ok', 'new', 'late', 'dead', 'absent', 'present',
--   'version'
-- Bound: O(fields + events)
-- Round trips: 1
-- include: time
local call, fmt = redis.call, string.format
local ms, stamped = clock()
local now, micros = fmt('%.0f', ms), fmt('%.0f', stamped)
local hash = KEYS[1]

-- include: emit
-- include: versions
-- include: same

if ms > tonumber(deadline) then return {'late', '', now, '-1'} end
local version = vfield ~= '' and call('HGET', hash, vfield)
local there = version or call('HLEN', hash) > 0
version = version or '0'
if condition == 'absent' and there then return {'present', version, now, '-1'} end
if condition ~= 'absent' and condition ~= 'any' then
  if not there then return {'absent', '', now, '-1'} end
  if string.byte(condition) == 64 then
    local field, text = string.match(condition, '^@([^=]*)=(.*)$')
    if call('HGET', hash, field) ~= text then return {'absent', '', now, '-1'} end
  elseif string.byte(condition) == 61 then
    if not same(hash, condition) then return {'version', version, now, '-1'} end
  elseif condition ~= 'present' and condition ~= version then
    return {'version', version, now, '-1'}
  end
end
if not there and listed == '1' then return {'dead', '', now, '-1'} end

local first = 14
local removed = first + sets
local reads = removed + unsets
local events = reads + shows

ready(hash, id, 0, events, #ARGV, there and 'old' or 'new', verb == 'd' and 0 or first, removed - 1)
if verb == 'd' then
  call('HDEL', hash, '') -- there is no such field: after what frees memory a full server takes the event, too
  emit(hash, id, 0, events, #ARGV, 'old')
  call('UNLINK', hash)
  return {'ok', version, now, '-2'}
end

local fresh = vfield ~= '' and version ~= '0' and after(version) or micros
if string.byte(ttl) == 43 then
  ttl = string.sub(ttl, 2)
  if call('PTTL', hash) >= tonumber(ttl) then ttl = '' end
end
local stamp = fmt('%.0f', math.floor(ms / unit))
local at = first
if created == '1' then
  ARGV[at + 1] = stamp
  at = at + 2
  if there then first = at end -- it keeps its own
end
if vfield ~= '' then
  version = fresh
  ARGV[at + 1] = version
  at = at + 2
end
if updated == '1' then ARGV[at + 1] = stamp end
local ok, err = pcall(function()
  if first < removed then call('HSET', hash, unpack(ARGV, first, removed - 1)) end
  if removed < reads then call('HDEL', hash, unpack(ARGV, removed, reads - 1)) end
  if ttl ~= '' and ttl ~= '0' then call('PEXPIRE', hash, ttl) end
  emit(hash, id, 0, events, #ARGV, there and 'old' or 'new')
end)
if not ok then
  if not there then redis.pcall('UNLINK', hash) end -- no item without its TTL
  return redis.error_reply(type(err) == 'table' and err.err or tostring(err))
end
local out = {there and 'ok' or 'new', version, now, tostring(call('PTTL', hash))}
for i = reads, events - 1 do
  out[i - reads + 5] = call('HGET', hash, ARGV[i])
end
return out
