-- begin: notes that the handlers of jobs begin. It is for jobs of which earlier leases ended and it is not known whether
--   a handler had begun.
-- KEYS[1] runs
-- ARGV[1…] id, token
-- Returns: the numbers of the jobs that are not their worker's any more
-- Bound: O(jobs)
-- Round trips: 1
-- include: look
local ids, lost, begun = {}, {}, {}
for n = 1, #ARGV, 2 do ids[#ids + 1] = ARGV[n] end
local found = look(redis.pcall('HMGET', KEYS[1], unpack(ids)), KEYS[1])
for n = 1, #ids do
  local token = ARGV[2 * n] .. ' '
  local start, rest = (found[n] or ''):match('^(%S+ %d+ %d+ %d+ %d )%d( r1\n[^\n]*\n.*)$')
  if start and start:sub(1, #token) == token then
    begun[#begun + 1] = ids[n]
    begun[#begun + 1] = start .. '3' .. rest -- its doubt, see known
  else
    lost[#lost + 1] = n
  end
end
if #begun > 0 then
  -- Of nothing, and first: a server whose memory is full refuses HSET, unless a script has written already.
  redis.call('HDEL', KEYS[1], '')
  redis.call('HSET', KEYS[1], unpack(begun))
end
return lost
