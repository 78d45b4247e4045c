-- event claim: takes over messages whose consumer has given no sign of life, gives up those that were delivered too
-- often, and removes consumers that are gone and have nothing left.
-- KEYS[1] stream, KEYS[2] dead letters
-- ARGV[1] group, ARGV[2] consumer, ARGV[3] ms without a sign of life, ARGV[4] messages at most, ARGV[5] deliveries at most,
-- ARGV[6] where to go on, ARGV[7] dead letters kept, ARGV[8] age kept in ms or 0, ARGV[9] ms after which an empty consumer goes
-- Returns {where to go on, {{id, deliveries, {fields}}…}, {ids whose messages were trimmed}, dead letters made}
-- Round trips: 1. O(pending messages looked at).
local function bury(id, entry, deliveries)
  local fields = {'id', id, 'group', ARGV[1], 'reason', 'its consumers died or lost it', 'deliveries', deliveries}
  for i = 1, #entry do fields[#fields + 1] = entry[i] end
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[7], '*', unpack(fields))
  if ARGV[8] ~= '0' then redis.call('PEXPIRE', KEYS[2], ARGV[8]) end
  redis.call('XACK', KEYS[1], ARGV[1], id)
end

local found = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[6], 'COUNT', ARGV[4])
local taken, dead = {}, 0
for _, entry in ipairs(found[2]) do
  local pending = redis.call('XPENDING', KEYS[1], ARGV[1], entry[1], entry[1], 1)
  if pending[1] then
    if pending[1][4] > tonumber(ARGV[5]) then
      bury(entry[1], entry[2], pending[1][4])
      dead = dead + 1
    else
      taken[#taken + 1] = {entry[1], pending[1][4], entry[2]}
    end
  end
end
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local is = {}
  for i = 1, #consumer, 2 do is[consumer[i]] = consumer[i + 1] end
  if is.name ~= ARGV[2] and is.pending == 0 and is.idle > tonumber(ARGV[9]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], is.name)
  end
end
return {found[1], taken, found[3] or {}, dead}
