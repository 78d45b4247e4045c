-- fetch: settles jobs that were worked on, takes what is due and what a dead worker has left, and claims others. `quick`
--   decides what most calls are; what is decided is written in the end, either way.
-- KEYS[1] leases
-- KEYS[2] delayed
-- KEYS[3] dead
-- KEYS[4] state
-- KEYS[5] runs
-- KEYS[6…] lane
-- ARGV[1] token
-- ARGV[2] wanted: jobs
-- ARGV[3] lease: in ms
-- ARGV[4] mode: "tidy": take what is due, "more": and nothing else
-- ARGV[5] crashes_most: crashes that kill a job
-- ARGV[6] ttl: of the queue's keys in ms (0: none)
-- ARGV[7] before: the key of a job before its id
-- ARGV[8] after: and after it
-- ARGV[9] result_before: that of a result
-- ARGV[10] result_after
-- ARGV[11] dead_most: dead jobs kept
-- ARGV[12] attempts_most
-- ARGV[13] gap: µs between two jobs at the queue's rate (0: none)
-- ARGV[14] burst: jobs at once
-- ARGV[15] late: µs that a worker may be late at that rate
-- ARGV[16] lane_order: numbers of the lanes in the order to look, with a space between two
-- ARGV[17] lane_names: each with a space after it
-- ARGV[18] channel
-- ARGV[19] database: its number
-- ARGV[20] clustered: "cluster" in one
-- ARGV[21] seat: under which the answer is kept, of settlements and deaths, until the next one of that seat
-- ARGV[22] groups: of jobs that are done and left nothing
-- ARGV[23…] part: of each group: token, number of jobs, their ids; then six per other settlement: verb, id, token, text,
--   ms, the job's unique name. A token there has a space after it, as in what is known of a job
-- Returns: {µs until something is due (-1: nothing known), {ids that were not ours any more}, {ids}, {jobs}, {of those
--   that have been claimed before: which, attempt, fence, crashes, doubt, …}, "" or that the queue is paused, {of jobs
--   that have died: id, reason, attempts, crashes, …}, {keys that are no use: code, key, …}, the fence of the others}
-- Bound: O(jobs + settlements), with "tidy" at most 200 more
-- Round trips: 1
-- include: time
-- include: fence
-- include: look
-- include: known
local KEYS, ARGV = KEYS, ARGV
local now, micros = clock()
local stamp, fence = string.format('%.0f', now), string.format('%.0f', micros)
local leases, delayed, dead, state, runs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local wanted, ttl, gap = tonumber(wanted), tonumber(ttl), tonumber(gap)
local most = 100 -- of due jobs, of dead workers' jobs, and of ids without a job: in one call

-- What is to be read is read first.
if clustered ~= '' then steady(before, after) end
local answered = 'answer ' .. seat
local told = look(redis.pcall('HMGET', state, 'paused', 'tat', 'format', answered), state)
if told[4] and told[4]:sub(1, #token + 1) == token .. ' ' then -- its reply was lost, or it has overtaken itself
  local was = cjson.decode(told[4]:sub(#token + 2))
  return { 0, was[1], {}, {}, {}, told[1] or '', was[2], {}, fence }
end
-- What is done and left nothing: ids, and the token of each. The other settlements begin at rest.
local settled, tokens, done, rest = {}, {}, 0, 23
for _ = 1, tonumber(groups) do
  local token, last = ARGV[rest], rest + 1 + ARGV[rest + 1]
  for j = rest + 2, last do
    done = done + 1
    settled[done], tokens[done] = ARGV[j], token
  end
  rest = last + 1
end

-- What is to be written in the end, either way; and what only the long way may write, in lists that it makes.
local over, ended, popped = {}, {}, {} -- popped: how many are claimed, per lane
local unleased, first_due, due, tat, back = 0, 0, -1, micros, false
local forgotten, lost, held, died, later, results, texts, buried, undelayed, oldest
local fronts, ends, backs, front_seen, end_seen, brought, order, lengths -- per lane: from dead workers, due, given back

-- include: quick
if not quick then
  forgotten, lost, held, died, later, results, texts, buried, undelayed, oldest = {}, {}, {}, {}, {}, {}, {}, {}, {}, {}
  fronts, ends, backs, front_seen, end_seen, brought, order, lengths = {}, {}, {}, {}, {}, {}, {}, {}
  if told[3] and told[3] ~= '1' then -- what was claimed is settled
    faults[1], wanted = 'NEWER ' .. word(state), 0
  end
  if told[1] then wanted = 0 end
  local tidy = mode ~= '' and #faults == 0
  local function sooner(after) if due < 0 or after < due then due = math.max(after, 0) end end

  -- The rate: what was not used is lost, but for what a worker may be late.
  local burst, late = tonumber(burst), tonumber(late)
  if gap > 0 and wanted > 0 then
    tat = tonumber(told[2] or '0')
    tat = math.max(tat, micros - late)
    back = tat > micros + burst * gap -- the clock was put back: that costs one burst
    if back then tat = micros + burst * gap end
    local allowed = math.max(math.floor((micros + burst * gap - tat) / gap), 0)
    if allowed < 1 then sooner(math.ceil(tat + gap - burst * gap - micros)) end
    wanted = math.min(wanted, allowed)
  end

  -- The length of a key that is to be written; nil if it cannot be.
  local function length(command, key)
    if lengths[key] == nil then lengths[key] = mind(redis.pcall(command, key), key) or false end
    return lengths[key]
  end

  local function leased_now(id) return look(redis.pcall('ZSCORE', leases, id), leases) end

  local lanes
  local function lane_of(name)
    if not lanes then
      lanes = {}
      local n = 0
      for name in lane_names:gmatch('(%S+) ') do
        n = n + 1
        lanes[name] = n
      end
    end
    return lanes[name] or 1 -- one that is not declared any more
  end

  -- Whether a job is there, in a form that is known; the number of its lane, and its text or the start of it.
  local only = #KEYS == 6
  local function head(id)
    local key = before .. id .. after
    local text = mind(redis.pcall('GETRANGE', key, 0, 255), key)
    if not text or text == '' then return 'gone' end
    if newer(text) then
      faults[#faults + 1] = 'NEWER ' .. word(key)
      return 'newer'
    end
    return 'there', only and 1 or lane_of(text:match('^q1 %d+ (%S+) ')), text
  end
  -- The attempts of such a job, and the key of its unique name.
  local function details(id, text)
    local key = before .. id .. after
    if not text:find('\n', 1, true) and #text == 256 then text = look(redis.pcall('GET', key), key) end
    local attempts, name = text:match('^q1 %d+ %S+ (%d+) %S+ (%S+)\n')
    return tonumber(attempts or 0), unescaped(name)
  end

  local function add(list, a, b) list[#list + 1] = a; if b then list[#list + 1] = b end end
  local function lane(of, k)
    if not of[k] then of[k] = {} end
    return of[k]
  end

  local function release(id, name)
    if name and name ~= '' and mind(redis.pcall('GET', name), name) == id then add(ended, name) end
  end
  local function finish(id, name)
    add(over, id)
    add(forgotten, id)
    add(ended, before .. id .. after)
    release(id, name)
  end
  local function bury(id, r, reason, name)
    if not length('ZCARD', dead) then return end
    r.reason = reason
    add(over, id)
    add(died, stamp, id)
    add(held, id, noted(r, '-'))
    add(buried, id, reason)
    add(buried, string.format('%.0f', r.attempt), string.format('%.0f', r.crashes))
    release(id, name)
  end

  -- Jobs at the front of the first lane are looked up together with those that are settled.
  for number in lane_order:gmatch('%d+') do order[#order + 1] = tonumber(number) end
  local function waiting(k, from, n)
    local key = KEYS[5 + k]
    return mind(redis.pcall('LRANGE', key, from, from + n - 1), key) or {}
  end
  local run_of, asked = {}, {}
  local function ask()
    if #asked == 0 then return end
    local found = look(redis.pcall('HMGET', runs, unpack(asked)), runs)
    for n = 1, #asked do run_of[asked[n]] = found[n] end
    asked = {}
  end
  for n = 1, done do asked[n] = settled[n] end
  for j = rest, #ARGV, 6 do add(asked, ARGV[j + 1]) end
  local first = wanted > 0 and waiting(order[1], 0, wanted) or nil
  if first then
    for n = 1, #first do asked[#asked + 1] = first[n] end
  end
  ask()

  -- Settlements. Each is refused if the job has another owner by now.
  for n = 1, done do
    local id = settled[n]
    if owns(run_of[id], tokens[n]) then
      over[#over + 1], forgotten[#forgotten + 1], ended[#ended + 1] = id, id, before .. id .. after
    else
      lost[#lost + 1] = id
    end
  end
  local function settle(verb, id, text, ms, name)
    local r = known(run_of[id])
    if not r then
      add(faults, 'NEWER ' .. word(runs))
    elseif verb == 'done' or r.cancelled then -- a job that was cancelled does not run again
      if verb == 'done' and text ~= '' then
        add(results, result_before .. id .. result_after)
        add(texts, text, ms)
      end
      return finish(id, name)
    end
    local what, k, start = head(id)
    local attempts = what == 'there' and details(id, start)
    if what == 'gone' then
      add(over, id)
      add(forgotten, id)
    elseif what == 'newer' then
      return
    elseif verb == 'back' then
      if not length('LLEN', KEYS[5 + k]) then return end
      r.attempt = math.max(r.attempt - 1, 0)
      r.doubt = math.min(r.doubt, 2)
      add(over, id)
      add(held, id, noted(r, '-'))
      add(lane(backs, k), id)
    elseif verb == 'later' or verb == 'retry' and r.attempt < (attempts > 0 and attempts or tonumber(attempts_most)) then
      if not length('ZCARD', delayed) then return end
      if verb == 'later' then r.attempt = math.max(r.attempt - 1, 0) end -- it is no attempt
      r.reason, r.doubt = text, math.min(r.doubt, 2)
      add(over, id)
      add(held, id, noted(r, '-'))
      add(later, string.format('%.0f', now + tonumber(ms)), id)
      sooner(tonumber(ms) * 1000)
    else
      bury(id, r, text, name)
    end
  end
  for j = rest, #ARGV, 6 do
    local id = ARGV[j + 1]
    if owns(run_of[id], ARGV[j + 2]) then
      settle(ARGV[j], id, ARGV[j + 3], ARGV[j + 4], ARGV[j + 5])
    else
      add(lost, id)
    end
  end

  -- What dead workers have left goes to the front of its lane, and what is due to the end. If this call is to claim it,
  -- no more is brought than it wants: the
  -- lane stays empty, and quick can claim the rest.
  local more = false
  local function bring(zset, reply, room, into, each)
    local seen, n, moved, full = 0, room > 0 and math.min(room, most) or most, 0, false
    repeat
      local all = reply(redis.pcall('ZRANGE', zset, '-inf', stamp, 'BYSCORE', 'LIMIT', seen, n), zset) or {}
      seen, moved, full = seen + #all, moved + each(all), #all == n
      n = most - seen
    until not full or n <= 0 or room > 0 and #lane(into, order[1]) >= room
    more = more or full and moved > 0
    return seen == moved and seen or 0 -- how many leave the front of the zset: all that were seen, or not
  end
  local function left(all)
    local mine, moved = {}, 0
    for n = 1, #over do mine[over[n]] = true end
    for n = 1, #all do
      if run_of[all[n]] == nil then add(asked, all[n]) end
    end
    ask()
    for _, id in ipairs(all) do
      local what, k, text
      if mine[id] then moved = moved + 1 else what, k, text = head(id) end
      local r = what and known(run_of[id] or '')
      if what and not r then
        what = 'newer'
        add(faults, 'NEWER ' .. word(runs))
      end
      if what == 'gone' then
        moved = moved + 1
        add(over, id)
        add(forgotten, id)
      elseif what == 'there' and r.cancelled then
        moved = moved + 1
        local _, name = details(id, text)
        finish(id, name)
      elseif what == 'there' then
        orphaned(r)
        if r.crashes >= tonumber(crashes_most) then
          moved = moved + (length('ZCARD', dead) and 1 or 0)
          local _, name = details(id, text)
          bury(id, r, 'its workers died ' .. r.crashes .. ' times', name)
        elseif length('LLEN', KEYS[5 + k]) then
          moved = moved + 1
          add(lane(fronts, k), id)
          brought[id] = r
        end
      end
    end
    return moved
  end
  local function due_now(all)
    local moved = 0
    for _, id in ipairs(all) do
      local what, k = head(id)
      if what == 'there' and length('LLEN', KEYS[5 + k]) then
        moved = moved + 1
        add(undelayed, id)
        add(lane(ends, k), id)
      elseif what == 'gone' then
        moved = moved + 1
        add(undelayed, id)
        add(forgotten, id)
      end
    end
    return moved
  end
  if tidy then
    unleased = bring(leases, look, wanted, fronts, left)
    first_due = bring(delayed, mind, wanted - #(first or {}) - #lane(fronts, order[1]), ends, due_now)
  end
  -- What is known of jobs that are gone with the place they were in.
  if mode == 'tidy' and tidy then
    for _, id in ipairs(look(redis.pcall('HRANDFIELD', runs, 10), runs)) do
      if redis.call('EXISTS', before .. id .. after) == 0 and not leased_now(id) then add(forgotten, id) end
    end
  end
  if tidy and not more then
    local stuck = #faults > 0
    for _, key in ipairs({ leases, delayed }) do
      local next = mind(redis.pcall('ZRANGE', key, '(' .. stamp, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES'), key)
      if next and next[2] then sooner((tonumber(next[2]) - now) * 1000) end
    end
    if stuck then sooner(1000000) end
  end

  -- Claims.
  local looked = 0
  -- Claims what can be of these, and gives how many it has seen to; it stops at a job that is not for this program.
  local function claim(some)
    local names = {}
    for n = 1, #some do
      names[n] = before .. some[n] .. after
      if run_of[some[n]] == nil then asked[#asked + 1] = some[n] end
    end
    ask()
    looked = looked + #some
    local found = look(redis.pcall('MGET', unpack(names)), names[1])
    for n = 1, #some do
      local id, text = some[n], found[n]
      local run, r = run_of[id], brought[id]
      if got == wanted then return n - 1 end
      if not text then -- its TTL ran out, or it was deleted: its id means nothing
        mind(redis.pcall('STRLEN', names[n]), names[n])
        if run then forgotten[#forgotten + 1] = id end
      elseif newer(text) then
        add(faults, 'NEWER ' .. word(names[n]))
        return n - 1, true
      elseif not taken[id] and not (not r and run and run:sub(1, 2) ~= '- ' and leased_now(id)) then -- else it is being worked on: its id was there twice
        r = r or run and known(run)
        if run and not r then
          add(faults, 'NEWER ' .. word(runs))
          return n - 1, true
        end
        taken[id] = true
        if r and r.cancelled then
          local _, name = details(id, text)
          finish(id, name)
        else
          begin(id, text, r)
        end
      end
    end
    return #some
  end
  local function from(list)
    local seen = 0
    while list and got < wanted and seen < #list do
      local n, stop = claim({ unpack(list, seen + 1, math.min(seen + wanted - got, #list)) })
      seen = seen + n
      if stop then break end
    end
    return seen
  end
  for _, k in ipairs(order) do
    if got == wanted or looked > wanted + most then break end
    front_seen[k] = from(fronts[k])
    popped[k] = 0
    local some, stop
    if front_seen[k] == #(fronts[k] or {}) then
      repeat
        local need, n = wanted - got, 0
        some = first and k == order[1] and popped[k] == 0 and need == wanted and first or waiting(k, popped[k], need)
        if #some > 0 then n, stop = claim(some) end
        popped[k] = popped[k] + n
      until stop or #some < need or got == wanted or looked > wanted + most
      if not stop and got < wanted and looked <= wanted + most then end_seen[k] = from(ends[k]) end
    end
  end
  more = more or wanted > 0 and got < wanted and looked > wanted + most
  if more then due = 0 end
  if (got > 0 or #over > 0) and not tidy then look(redis.pcall('ZCARD', leases), leases) end
  if #results > 0 then look(redis.pcall('EXISTS', unpack(results)), results[1]) end

  -- The oldest of too many dead ones.
  if #died > 0 then
    local excess = math.min(lengths[dead] + #died / 2 - tonumber(dead_most), lengths[dead], most)
    if excess > 0 then oldest = look(redis.pcall('ZRANGE', dead, 0, excess - 1), dead) end
    for _, id in ipairs(oldest) do
      add(ended, before .. id .. after)
      add(forgotten, id)
    end
  end
  for _, k in ipairs(order) do
    for _, id in ipairs(fronts[k] or {}) do
      if unleased == 0 then add(over, id) end
      if not taken[id] then add(held, id, noted(brought[id], '-')) end
    end
  end
end

-- From here on everything is written, and nothing can fail. What takes away is first: a server whose memory is full
-- refuses the rest, unless a script has
-- written already.
local function keep(key) if ttl > 0 then redis.call('PEXPIRE', key, ttl) end end
local function write(command, key, list)
  for from = 1, #list, 1000 do redis.call(command, key, unpack(list, from, math.min(from + 999, #list))) end
end
for from = 1, #ended, 1000 do redis.call('UNLINK', unpack(ended, from, math.min(from + 999, #ended))) end
if unleased > 0 then redis.call('ZREMRANGEBYRANK', leases, 0, unleased - 1) end -- from a long one that is several times as fast
write('ZREM', leases, over)
if first_due > 0 then redis.call('ZREMRANGEBYRANK', delayed, 0, first_due - 1) end
for k, n in pairs(popped) do
  if n > 0 then redis.call('LPOP', KEYS[5 + k], n) end
end
write('HDEL', runs, forgotten)
if not quick then
  if first_due == 0 then write('ZREM', delayed, undelayed) end
  write('ZREM', dead, oldest)
  write('HSET', runs, held)
end
if got > 0 then
  write('HSET', runs, claimed)
  write('ZADD', leases, leased)
  keep(leases)
end
if got > 0 or not quick and #held > 0 then keep(runs) end
if not quick then
  local waking = false
  for n = 1, #results do redis.call('SET', results[n], texts[2 * n - 1], 'PX', texts[2 * n]) end
  if #later > 0 then
    write('ZADD', delayed, later)
    keep(delayed)
  end
  if #died > 0 then
    write('ZADD', dead, died)
    keep(dead)
  end
  for _, k in ipairs(order) do
    local fronting, ending = {}, {}
    for n = #(fronts[k] or {}), (front_seen[k] or 0) + 1, -1 do
      if not taken[fronts[k][n]] then fronting[#fronting + 1] = fronts[k][n] end
    end
    for _, id in ipairs(backs[k] or {}) do fronting[#fronting + 1] = id end
    for n = (end_seen[k] or 0) + 1, #(ends[k] or {}) do
      if not taken[ends[k][n]] then ending[#ending + 1] = ends[k][n] end
    end
    write('LPUSH', KEYS[5 + k], fronting)
    write('RPUSH', KEYS[5 + k], ending)
    if #fronting + #ending > 0 then
      keep(KEYS[5 + k])
      waking = true
    end
  end
  if gap > 0 and (got > 0 or back) then
    if got == 0 then redis.call('HDEL', state, '') end
    redis.call('HSET', state, 'tat', string.format('%.0f', tat + got * gap))
    if not told[1] then keep(state) end
  end
  if waking then redis.pcall('PUBLISH', channel, 'ready ' .. database) end -- a user that may not: others look once a second
end
if #ARGV >= 23 or not quick and #buried > 0 then
  if #ended == 0 then redis.call('HDEL', state, '') end
  redis.call('HSET', state, answered, token .. ' ' .. (quick and '[{},{}]' or cjson.encode({ lost, buried })))
  if not told[1] then keep(state) end
end
return { due, lost or {}, ids, jobs, tried, told[1] or '', buried or {}, faults, fence }
