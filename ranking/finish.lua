-- finish: makes a sum that is complete the window.
-- KEYS[1] window
-- KEYS[2] sum
-- ARGV[1] token
-- ARGV[2] ttl: in ms
-- ARGV[3] builder: the member with the token
-- Returns: 1, or 0 if another builder has taken over
-- Bound: O(1)
-- Round trips: 1
local token = redis.pcall('ZSCORE', KEYS[2], ARGV[3])
if type(token) == 'table' then
  return {err = token.err .. ' (key ' .. KEYS[2] .. ')'}
elseif not token or tonumber(token) ~= tonumber(ARGV[1]) then
  return 0
end
redis.call('ZREM', KEYS[2], ARGV[3])
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('UNLINK', KEYS[1]) -- RENAME would free it at once
  redis.call('RENAME', KEYS[2], KEYS[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
