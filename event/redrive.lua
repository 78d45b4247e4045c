-- event redrive: publishes dead letters again, as new messages.
-- KEYS[1] stream, KEYS[2] dead letters
-- ARGV[1] age kept in ms or 0, then the ids of dead letters
-- Returns how many there were
-- Round trips: 1. O(ids).
local n = 0
for i = 2, #ARGV do
  local entry = redis.call('XRANGE', KEYS[2], ARGV[i], ARGV[i])[1]
  if entry then
    local fields = {}
    for j = 1, #entry[2], 2 do
      if entry[2][j] == 'timestamp' or entry[2][j] == 'data' then
        fields[#fields + 1] = entry[2][j]
        fields[#fields + 1] = entry[2][j + 1]
      end
    end
    if #fields > 0 then redis.call('XADD', KEYS[1], '*', unpack(fields)) end
    redis.call('XDEL', KEYS[2], ARGV[i])
    n = n + 1
  end
end
if n > 0 and ARGV[1] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return n
