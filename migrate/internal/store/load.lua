-- load: writes records of which no key is there and of which there is no ticket, or none of them.
-- KEYS[1] migration
-- KEYS[2] tickets
-- KEYS[3…] key: of a record
-- ARGV[1] part
-- ARGV[2] expected: the epoch
-- ARGV[3] stamp: a ticket
-- ARGV[4] given: a ticket that was given before, or 0
-- ARGV[5] digests: of the records, 16 bytes each
-- ARGV[6] mode: "keep", "at" a time or "in" a time
-- ARGV[7] count: how many fields each record has, or 0 for strings
-- ARGV[8…] value: the names of the fields; then of each record its time in ms, if the mode is not "keep", and its values
-- Returns: {'ok'|'some'|'lost'|'epoch'|'old', the epoch that the part has, or '', the last ticket}; 'some': a key or a
--   ticket is there; nothing is written but with 'ok'
-- Bound: O(values): 250 records, 4,000 values
-- Round trips: 1
-- include: time
local has = redis.call('HMGET', KEYS[1], 'epoch:' .. part, 'ticket:' .. part)
local epoch, last = has[1] or '', has[2] or '0'
if epoch == '' or tonumber(epoch) < tonumber(expected) or tonumber(last) < tonumber(given) then
  return {'lost', epoch}
end
if tonumber(epoch) > tonumber(expected) then return {'epoch', epoch} end
local _, micros = clock()
if tonumber(stamp) < micros - 3600000000 then return {'old', epoch} end
local some = {'some', epoch, last}
local records = #KEYS - 2
if redis.call('EXISTS', KEYS[2]) == 1 then
  local all = {}
  for i = 1, records do all[i] = string.sub(digests, 16 * i - 15, 16 * i) end
  for _, ticket in ipairs(redis.call('ZMSCORE', KEYS[2], unpack(all))) do -- at most 250
    if ticket then return some end
  end
end
if mode == 'keep' and count == '0' then
  local all = {}
  for i = 1, records do all[2 * i - 1], all[2 * i] = KEYS[i + 2], ARGV[i + 7] end
  if redis.call('MSETNX', unpack(all)) == 0 then return some end -- at most 500
  return {'ok', epoch, last}
end
if redis.call('EXISTS', unpack(KEYS, 3)) > 0 then return some end -- at most 250
local n, ends, all = tonumber(count), mode ~= 'keep', {}
for i = 1, n do all[2 * i - 1] = ARGV[i + 7] end
local at = 8 + n
for i = 3, #KEYS do
  local ms
  if ends then ms, at = ARGV[at], at + 1 end
  if n == 0 then
    redis.call('SET', KEYS[i], ARGV[at], mode == 'at' and 'PXAT' or 'PX', ms)
    at = at + 1
  else
    for j = 1, n do all[2 * j] = ARGV[at + j - 1] end
    redis.call('HSET', KEYS[i], unpack(all)) -- at most 4,000
    if ends then redis.call(mode == 'at' and 'PEXPIREAT' or 'PEXPIRE', KEYS[i], ms) end
    at = at + n
  end
end
return {'ok', epoch, last}
