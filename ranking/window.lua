-- window: read a window; if it is not there and its periods are small, add them up before
-- (read.lua follows). The key is the result, so that nothing is left to clean up.
-- KEYS: 1 the window  2… the periods
-- ARGV: 1-4 of read.lua  5 TTL in ms  6 how many members the periods have together at most
--       7… a weight per period
-- Returns: as read.lua; a place of -1 if the window is not there and the periods have more
-- Round trips: 1
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
  if size > tonumber(ARGV[6]) then return {-1, {}} end
  call[#call + 1] = 'WEIGHTS'
  for i = 7, #ARGV do call[#call + 1] = ARGV[i] end
  if left == -1 then redis.call('UNLINK', KEYS[1]) end -- it may be large
  if redis.call(unpack(call)) > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
end
