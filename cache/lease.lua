-- lease: renew the lease of a load, or give it up
-- KEYS: 1 fill
-- ARGV: 1 token  2 ms it is to last from now, 0 to give it up
-- Returns: 1, or 0 if it is not held any more
-- Round trips: 1
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
if tonumber(ARGV[2]) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  redis.call('UNLINK', KEYS[1])
end
return 1
