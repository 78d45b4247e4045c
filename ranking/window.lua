-- window: add the periods up into the window's key, if it is not there, and read it
-- (read.lua follows). The key is the result, so that nothing is left to clean up.
-- KEYS: 1 the window  2… the periods
-- ARGV: 1-5 of read.lua  6 TTL in ms  7… a weight per period
-- Returns: as read.lua
-- Round trips: 1
if redis.call('PTTL', KEYS[1]) < 0 then -- missing, or somebody made it permanent
  local call = {'ZUNIONSTORE', KEYS[1], #KEYS - 1}
  for i = 2, #KEYS do call[#call + 1] = KEYS[i] end
  call[#call + 1] = 'WEIGHTS'
  for i = 7, #ARGV do call[#call + 1] = ARGV[i] end
  if redis.call(unpack(call)) > 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[6])
  end
end
