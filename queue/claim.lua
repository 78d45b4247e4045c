-- claim: makes jobs this worker's. What it decides is written in the end, see `fetch`.
-- Part.
-- include: turn
local ids, jobs, tried, leased, claimed, taken, got = {}, {}, {}, {}, {}, {}, 0
local until_then = string.format('%.0f', now + tonumber(lease))
local fresh = token .. ' ' .. fence .. ' 1 0 0 0 r1\n\n'
-- owns reports whether a job is that of a token, by what is known of it.
local function owns(run, token) return run and string.find(run, token, 1, true) == 1 end
-- begin gives a job to this worker. r is what is known of it, nil if nothing is; becomes is what is known from now on, of
-- an r that has begun again already.
local function begin(id, text, r, becomes)
  got = got + 1
  if r then
    becomes = becomes or begin_again(r, token, micros)
    local o = #tried
    tried[o + 1], tried[o + 2], tried[o + 3], tried[o + 4], tried[o + 5] = got, r.attempt, string.format('%.0f', r.fence), r.crashes, r.doubt
  end
  taken[id] = true
  ids[got], jobs[got] = id, text
  leased[2 * got - 1], leased[2 * got] = until_then, id
  claimed[2 * got - 1], claimed[2 * got] = id, becomes or fresh
end
