-- quick: decides what most calls of fetch are. Their jobs are done and left nothing, nothing else is asked, and the jobs
--   that are claimed are there and can run. `quick` is false where that is not so; nothing was decided then.
-- Part.
-- include: claim
local quick = mode ~= 'tidy' and gap == 0 and rest > #ARGV and not told[1] and not told[3]
if quick then
  local pcall, byte, match = redis.pcall, string.byte, string.match
  local all, found = settled, 0 -- what is settled, and after it what may be claimed
  local function take(some)
    if some.err then quick = false return 0 end
    for k = 1, #some do all[done + found + k] = some[k] end
    found = found + #some
    return #some
  end

  -- What a dead worker has left comes first, and what is due last: it needs no place in a lane if this call claims it.
  local more = mode == 'more'
  if more then unleased = take(pcall('ZRANGE', leases, '-inf', stamp, 'BYSCORE', 'LIMIT', 0, wanted)) end
  for number in lane_order:gmatch('%d+') do
    if not quick or found == wanted then break end
    local n = take(pcall('LRANGE', KEYS[5 + number], 0, wanted - found - 1))
    if n > 0 then popped[number] = n end
  end
  if quick and more and unleased < wanted then
    quick = not next(popped) -- else the long way brings many into the lanes
    if quick then first_due = take(pcall('ZRANGE', delayed, '-inf', stamp, 'BYSCORE', 'LIMIT', 0, wanted - found)) end
    quick = quick and found == wanted -- else the long way says when something is due
  end

  local was, texts = {}, {}
  if quick then
    if done + found > 0 then
      was = look(pcall('HMGET', runs, unpack(all)), runs)
      look(pcall('ZCARD', leases), leases)
    end
    if found > 0 then
      for k = 1, found do texts[k] = before .. all[done + k] .. after end
      texts = look(pcall('MGET', unpack(texts)), texts[1])
    end
  end
  -- What is known of a job that was begun before, when it begins again; nil if it does not, or not so simply. Those that
  -- one call has claimed and whose worker died are known alike.
  local crashes_most = tonumber(crashes_most)
  local alike, r, becomes
  local function begun(k, run)
    if run ~= alike or k > unleased then
      r = known(run)
      if not r or r.cancelled or k > unleased and r.owner ~= '-' then return nil end
      if k <= unleased then orphaned(r) end
      if r.crashes >= crashes_most and k <= unleased then return nil end
      becomes = begin_again(r, token, micros)
      alike = k <= unleased and run
    end
    return r, becomes
  end
  if unleased > 0 then
    for k = 1, done do taken[all[k]] = true end
  end
  local first = #KEYS > 6 and unleased + first_due > 0 and tonumber(lane_order:match('%d+'))
  if first then
    local names = lane_names:gmatch('(%S+) ')
    for _ = 1, first - 1 do names() end
    first = names()
  end
  for k = 1, found do
    local id, text, run = all[done + k], texts[k], was[done + k]
    local q, form, space, r, becomes
    if text then q, form, space = byte(text, 1, 3) end
    if run then r, becomes = begun(k, run) end
    if form ~= 49 or q ~= 113 or space ~= 32 or taken[id] -- "q1 "
      or not r and (run or k <= unleased)
      or first and (k <= unleased or k > found - first_due) and match(text, '^q1 %d+ (%S+) ') ~= first then
      quick = false
      break
    end
    begin(id, text, r, becomes)
  end
  -- What is not its own any more is for the long way.
  for k = 1, quick and done or 0 do
    over[k], ended[k] = all[k], before .. all[k] .. after
    quick = quick and owns(was[k], tokens[k])
  end
  if quick then
    forgotten, due = over, unleased + first_due > 0 and 0 or -1
  else
    over, ended, popped, unleased, first_due = {}, {}, {}, 0, 0
    ids, jobs, tried, leased, claimed, taken, got = {}, {}, {}, {}, {}, {}, 0
  end
end
