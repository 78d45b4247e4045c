-- missing: looks for jobs that are in no place, which no step of this queue leaves, but eviction, DEL by hand or a lost
-- write can.
-- Its scripts have the keys of `reconcile` and its first three arguments; the last ones are the ids of the jobs. `out` is
-- the ids of those that are in no place, `leased` and `pushed` where they are to be put, `lengths` those of the lanes.
-- Part.
-- include: time
-- include: look
-- include: known
local lanes = tonumber(ARGV[1])
local now = string.format('%.0f', (clock()))
local names, number = {}, 0
for name in ARGV[2]:gmatch('(%S+) ') do
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
    if redis.call('LPOS', KEYS[4 + l], id, 'MAXLEN', ARGV[3]) or redis.call('LPOS', KEYS[4 + l], id, 'RANK', -1, 'MAXLEN', ARGV[3]) then return 'a place' end
  end
  local r = known(look(redis.pcall('HGET', KEYS[4], id), KEYS[4]) or '')
  if not r or newer(text) then return 'a place' end -- which a newer program knows
  return r.owner ~= '-' and 'leases' or names[text:match('^q1 %d+ (%S+) ')] or 1
end
local out, leased, pushed = {}, {}, {}
local jobs = #KEYS - 4 - lanes
for n = 1, jobs do
  local id, job = ARGV[#ARGV - jobs + n], KEYS[4 + lanes + n]
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
