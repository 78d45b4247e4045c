-- turn: what becomes of what is known of a job when a worker claims it again, see `known`.
-- Part.
-- include: fence
-- include: known
-- orphaned is of a job that a worker has left: that is no attempt, and a crash if its handler had begun.
local function orphaned(r)
  r.attempt = math.max(r.attempt - 1, 0)
  if r.doubt == 3 then r.crashes, r.doubt = r.crashes + 1, 2 else r.doubt = math.min(r.doubt + 1, 2) end
end
-- begin_again is of a job that begins once more. It returns what is known of it from now on.
local function begin_again(r, token, micros)
  r.fence, r.attempt = fence_after(r.fence, micros), r.attempt + 1
  if r.doubt == 3 then r.doubt = 2 end
  return noted(r, token)
end
