-- build: adds up the members on one page of a period.
-- A member's whole sum is written at once, from this period and those after it: those before it have been read, so that
-- a member that they have is in the sum already. A page or a member that comes twice changes nothing.
-- KEYS[1] sum
-- KEYS[2] period
-- KEYS[3…] later: the periods after it
-- ARGV[1] token
-- ARGV[2] lease: in ms
-- ARGV[3] builder: the member with the token
-- ARGV[4] cursor
-- ARGV[5] page: members per page
-- ARGV[6…] weight: per period
-- Returns: the next cursor, 0 at the end; false if another builder has taken over
-- Bound: O(page × periods), about `page` members
-- Round trips: 1
local function named(reply, key)
  return {err = reply.err .. ' (key ' .. key .. ')'}
end
local token = redis.pcall('ZSCORE', KEYS[1], ARGV[3])
if type(token) == 'table' then return named(token, KEYS[1]) end
if not token or tonumber(token) ~= tonumber(ARGV[1]) then return false end
local page = redis.pcall('ZSCAN', KEYS[2], ARGV[4], 'COUNT', ARGV[5])
if page.err then return named(page, KEYS[2]) end

local rows, adds = page[2], {}
for from = 1, #rows, 1000 do
  local names = {}
  for i = from, math.min(from + 999, #rows), 2 do names[#names + 1] = rows[i] end
  local known, fresh, sums = redis.call('ZMSCORE', KEYS[1], unpack(names)), {}, {}
  for i = 1, #names do
    if names[i] == ARGV[3] then
      return {err = 'ERR a member has the name that is kept for the builder of a window (key ' .. KEYS[2] .. ')'}
    elseif not known[i] then
      fresh[#fresh + 1], sums[#sums + 1] = names[i], 0
    end
  end
  for k = 2, #fresh > 0 and #KEYS or 0 do
    local scores = redis.pcall('ZMSCORE', KEYS[k], unpack(fresh))
    if scores.err then return named(scores, KEYS[k]) end
    for i = 1, #fresh do
      local part = scores[i] and scores[i] * ARGV[k + 4] or 0
      if part ~= part then part = 0 end -- as ZUNIONSTORE has it
      sums[i] = sums[i] + part
      if sums[i] ~= sums[i] then sums[i] = 0 end
    end
  end
  local add = {}
  for i = 1, #fresh do add[2 * i - 1], add[2 * i] = string.format('%.17g', sums[i]), fresh[i] end
  adds[#adds + 1] = add
end
for i = 1, #adds do
  if #adds[i] > 0 then redis.call('ZADD', KEYS[1], unpack(adds[i])) end
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return page[1]
