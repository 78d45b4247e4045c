-- window: add the periods up into the window's key, if it is not there, and read it
-- (read.lua follows). The key is the result, so that nothing is left to clean up.
-- KEYS: 1 the window  2… the periods
-- ARGV: 1-4 of read.lua  5 TTL in ms  6… a weight per period
-- Returns: as read.lua
-- Round trips: 1
if redis.call('PTTL', KEYS[1]) < 0 then -- missing, or somebody made it permanent
  local call = {'ZUNIONSTORE', KEYS[1], #KEYS - 1}
  for i = 2, #KEYS do call[#call + 1] = KEYS[i] end
  call[#call + 1] = 'WEIGHTS'
  for i = 6, #ARGV do call[#call + 1] = ARGV[i] end
  local members = redis.pcall(unpack(call))
  if type(members) == 'table' then -- nothing has been written
    for i = 2, #KEYS do
      local kind = redis.call('TYPE', KEYS[i]).ok
      if kind ~= 'zset' and kind ~= 'none' and kind ~= 'set' then
        return {err = members.err .. ' (key ' .. KEYS[i] .. ')'}
      end
    end
    return members
  elseif members > 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[5])
  end
end
