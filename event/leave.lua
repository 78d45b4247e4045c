-- event leave: a consumer that ends is removed, unless messages are pending for it, which would go with it.
-- KEYS[1] stream
-- ARGV[1] group, ARGV[2] consumer
-- Returns the messages that are pending for it
-- Round trips: 1
local pending = #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])
if pending == 0 then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
return pending
