-- begin: makes the caller the builder of a window that is not there.
-- KEYS[1] window
-- KEYS[2] sum: it becomes the window; its member `builder` has the builder's token as score
-- ARGV[1] token
-- ARGV[2] lease: in ms
-- ARGV[3] builder: the member
-- Returns: 1 if the caller is the builder, 0 if the window is there or another builder is at work
-- Bound: O(1)
-- Round trips: 1
if redis.call('PTTL', KEYS[1]) >= 0 then return 0 end
local token, left = redis.pcall('ZSCORE', KEYS[2], ARGV[3]), redis.call('PTTL', KEYS[2])
if type(token) == 'table' then
  return {err = token.err .. ' (key ' .. KEYS[2] .. ')'}
elseif token and left >= 0 then
  return tonumber(token) == tonumber(ARGV[1]) and 1 or 0
end
redis.call('UNLINK', KEYS[2])
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1
