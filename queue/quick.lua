-- quick: does what most calls of fetch are. Their jobs are done and left nothing, nothing else is asked, and the jobs that
--   are claimed are there and can run. fetch begins from its start where that is not so: nothing was written then.
-- Part.
-- include: time
-- include: look
-- include: turn
local KEYS, ARGV = KEYS, ARGV
local now, micros = clock()
if mode ~= 'tidy' and gap == '0' and resent == '' then
  local call, pcall, byte, match, format = redis.call, redis.pcall, string.byte, string.match, string.format
  local leases, delayed, runs = KEYS[1], KEYS[2], KEYS[5]
  if clustered ~= '' then look(pcall('EXISTS', before .. ':1' .. after, before .. ':2' .. after), before .. after) end -- see steady
  local told = look(pcall('HMGET', KEYS[4], 'paused', 'format'), KEYS[4])
  local wanted, all, settled, i = tonumber(wanted), {}, 0, 24
  for _ = 1, tonumber(groups) do
    local last = i + 1 + ARGV[i + 1]
    for j = i + 2, last do
      settled = settled + 1
      all[settled] = ARGV[j]
    end
    i = last + 1
  end

  -- What a dead worker has left comes first, and what is due last: it needs no place in a lane if this call claims it.
  local more = mode == 'more'
  local stamp, quick, got, left, due, popped = format('%.0f', now), i > #ARGV and not told[1] and not told[2], 0, 0, 0, {}
  local function take(some)
    if some.err then quick = false return 0 end
    for k = 1, #some do all[settled + got + k] = some[k] end
    got = got + #some
    return #some
  end
  if quick and more then left = take(pcall('ZRANGE', leases, '-inf', stamp, 'BYSCORE', 'LIMIT', 0, wanted)) end
  for number in lane_order:gmatch('%d+') do
    if not quick or got == wanted then break end
    local n = take(pcall('LRANGE', KEYS[5 + number], 0, wanted - got - 1))
    if n > 0 then popped[KEYS[5 + number]] = n end
  end
  if quick and more and left < wanted then
    quick = not next(popped) -- else fetch brings many into the lanes
    if quick then due = take(pcall('ZRANGE', delayed, '-inf', stamp, 'BYSCORE', 'LIMIT', 0, wanted - got)) end
    quick = quick and got == wanted -- else fetch says when something is due
  end

  local was, texts = {}, {}
  if quick then
    if settled + got > 0 then
      was = look(pcall('HMGET', runs, unpack(all)), runs)
      look(pcall('ZCARD', leases), leases)
    end
    if got > 0 then
      for k = 1, got do texts[k] = before .. all[settled + k] .. after end
      texts = look(pcall('MGET', unpack(texts)), texts[1])
    end
  end
  local crashes_most, seen = tonumber(crashes_most), {}
  local fence = format('%.0f', micros)
  local fresh, held, tried = token .. ' ' .. fence .. ' 1 0 0 0 r1\n\n', {}, {}
  -- What is known of a job that was begun before, when it begins again; nil if it does not, or not so simply. Those that
  -- one call has claimed and whose worker died are known alike.
  local alike, r, becomes
  local function begun(k, run)
    if run ~= alike or k > left then
      r = known(run)
      if not r or r.cancelled or k > left and r.owner ~= '-' then return nil end
      if k <= left then orphaned(r) end
      if r.crashes >= crashes_most and k <= left then return nil end
      becomes = begin_again(r, token, micros)
      alike = k <= left and run
    end
    local o = #tried
    tried[o + 1], tried[o + 2], tried[o + 3], tried[o + 4], tried[o + 5] = k, r.attempt, format('%.0f', r.fence), r.crashes, r.doubt
    return becomes
  end
  if left > 0 then
    for k = 1, settled do seen[all[k]] = true end
  end
  local first = #KEYS > 6 and left + due > 0 and tonumber(lane_order:match('%d+'))
  if first then
    local names = lane_names:gmatch('(%S+) ')
    for _ = 1, first - 1 do names() end
    first = names()
  end
  for k = 1, got do
    local id, text, run = all[settled + k], texts[k], was[settled + k]
    local q, form, space
    if text then q, form, space = byte(text, 1, 3) end
    if run then run = begun(k, run) elseif k > left then run = fresh end
    if form ~= 49 or q ~= 113 or space ~= 32 or not run or seen[id] -- "q1 "
      or first and (k <= left or k > got - due) and match(text, '^q1 %d+ (%S+) ') ~= first then
      quick = false
      break
    end
    seen[id] = true
    held[2 * k - 1] = id
    held[2 * k] = run
  end

  -- What is not its own any more is for fetch, which knows whether this very call has settled it.
  local over, ended, o, n = {}, {}, 0, 24
  for _ = 1, quick and tonumber(groups) or 0 do
    local token, last = ARGV[n], n + 1 + ARGV[n + 1]
    for j = n + 2, last do
      o = o + 1
      over[o] = ARGV[j]
      ended[o] = before .. ARGV[j] .. after
      local run = was[o]
      quick = quick and run and run:find(token, 1, true) == 1
    end
    n = last + 1
  end

  if quick then
    local ttl = tonumber(ttl)
    if left > 0 then call('ZREMRANGEBYRANK', leases, 0, left - 1) end
    if due > 0 then call('ZREMRANGEBYRANK', delayed, 0, due - 1) end
    if o > 0 then
      call('UNLINK', unpack(ended))
      call('ZREM', leases, unpack(over))
      call('HDEL', runs, unpack(over))
      call('HSET', KEYS[4], 'answer ' .. seat, token .. ' [{},{}]')
      if ttl > 0 then call('PEXPIRE', KEYS[4], ttl) end
    end
    local ids, leased = {}, {}
    if got > 0 then
      local ends = format('%.0f', now + lease)
      for k = 1, got do
        local id = all[settled + k]
        ids[k] = id
        leased[2 * k - 1] = ends
        leased[2 * k] = id
      end
      for lane, n in pairs(popped) do call('LPOP', lane, n) end
      call('HSET', runs, unpack(held))
      call('ZADD', leases, unpack(leased))
      if ttl > 0 then
        call('PEXPIRE', runs, ttl)
        call('PEXPIRE', leases, ttl)
      end
    end
    return { left + due > 0 and 0 or -1, {}, ids, texts, tried, '', {}, {}, fence }
  end
end
