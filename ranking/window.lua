-- window: reads a window; if it is not there and its periods are small, it adds them up before. The key is the result, so
--   that nothing is left to clean up.
-- KEYS[1] window
-- KEYS[2…] period
-- ARGV[1] what: see `rows`
-- ARGV[2] a
-- ARGV[3] b
-- ARGV[4] c
-- ARGV[5] ttl: in ms
-- ARGV[6] most: how many members the periods have together at most
-- ARGV[7…] weight: per period
-- Returns: as read; a place of -1 if the window is not there and the periods have more
-- Bound: O(N log N) of `most` members
-- Round trips: 1
-- include: rows
local left = redis.call('PTTL', KEYS[1])
if left < 0 then -- missing, or a caller made it permanent
  local call, size = {'ZUNIONSTORE', KEYS[1], #KEYS - 1}, 0
  for i = 2, #KEYS do
    local members = redis.pcall('ZCARD', KEYS[i])
    if type(members) == 'table' then
      return {err = members.err .. ' (key ' .. KEYS[i] .. ')'}
    end
    size = size + members
    call[#call + 1] = KEYS[i]
  end
  if size > tonumber(most) then return {-1, {}} end
  call[#call + 1] = 'WEIGHTS'
  for i = 7, #ARGV do call[#call + 1] = ARGV[i] end
  if left == -1 then redis.call('UNLINK', KEYS[1]) end -- it may be large
  if redis.call(unpack(call)) > 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
end
return rows(what, a, b, c)
