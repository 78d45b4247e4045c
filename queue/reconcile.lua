-- reconcile: brings back jobs that are in no place, which no step of this queue leaves, but eviction, DEL by hand or a
-- lost write can.
-- KEYS[1] leases, KEYS[2] delayed, KEYS[3] dead, KEYS[4] runs, KEYS[5…] the lanes, after them the jobs: those that were
-- in no lane when it was read
-- ARGV[1] number of lanes, ARGV[2] channel, ARGV[3] number of the database, ARGV[4] names of the lanes, each with a
-- space after it, ARGV[5] elements of a lane to look at from each end,
-- ARGV[6] "dry": change nothing, then the id of each job
-- Returns the ids of those that were brought back
-- Round trips: 1. O(jobs × lanes × elements).
local lanes = tonumber(ARGV[1])
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local names, number = {}, 0
for name in ARGV[4]:gmatch('(%S+) ') do
  number = number + 1
  names[name] = number
end
local lengths = {}
for l = 1, lanes do lengths[l] = look(redis.pcall('LLEN', KEYS[4 + l]), KEYS[4 + l]) end
local function place(id, text)
  for n = 1, 3 do
    if look(redis.pcall('ZSCORE', KEYS[n], id), KEYS[n]) then return 'a place' end
  end
  for l = 1, lanes do
    if redis.call('LPOS', KEYS[4 + l], id, 'MAXLEN', ARGV[5]) or redis.call('LPOS', KEYS[4 + l], id, 'RANK', -1, 'MAXLEN', ARGV[5]) then return 'a place' end
  end
  local r = known(look(redis.pcall('HGET', KEYS[4], id), KEYS[4]) or '')
  if not r or newer(text) then return 'a place' end -- which a newer program knows
  return r.owner ~= '-' and 'leases' or names[text:match('^q1 %d+ (%S+) ')] or 1
end
local out, leased, pushed = {}, {}, {}
for i = 7, #ARGV do
  local id, job = ARGV[i], KEYS[4 + lanes + i - 6]
  local text = mind(redis.pcall('GETRANGE', job, 0, 255), job)
  local to = text and text ~= '' and place(id, text) or 'a place'
  if to ~= 'a place' then
    out[#out + 1] = id
    if to == 'leases' then
      leased[#leased + 1] = now -- as if its lease had just run out: its worker may live, and renews it
      leased[#leased + 1] = id
    else
      pushed[#pushed + 1] = { to, id }
    end
  end
end
if ARGV[6] == 'dry' then return out end
local waking = false
for _, p in ipairs(pushed) do waking = waking or lengths[p[1]] == 0 end
if waking then may(ARGV[2]) end
-- WRITES
if #leased > 0 then redis.call('ZADD', KEYS[1], unpack(leased)) end
for _, p in ipairs(pushed) do redis.call('RPUSH', KEYS[4 + p[1]], p[2]) end
if waking then redis.call('PUBLISH', ARGV[2], 'ready ' .. ARGV[3]) end
return out
