-- marks: the marks of the indexes.
-- It is at the id that no item has, '': 16 characters that are others after every change, and per index a line:
--   '+' (all items are in it), '-' (some may be missing) or '~' and the 8 characters of a builder (it builds it, and
--   nothing was missed since), and its tag, as records have it.
-- The first of the 16 characters is a digit or a capital letter. Where it is another one, a program of a newer form keeps
-- these index records.
-- Part.
-- include: time
-- include: look

local newer = 'FORM a newer version of this program has written this index record, or the marks of the indexes'

-- foreign is whether the marks, or an index record, are of another form.
local function foreign(said, entry)
  return said and (#said < 16 or not string.find(said, '^[0-9A-Z]')) or entry and string.byte(entry) ~= 61
end

-- disagreement is what is said there, if a writer has not agreed to it: it has agreed to those 16 characters, or knows the
-- lines, in which all is complete.
-- begins is whether nothing is said there yet, as there is no item; known is whether the writer knows all lines, and all is complete.
local function disagreement(index_records, agreed, said)
  if not said then
    if redis.call('EXISTS', index_records) == 1 then return '' end
    return nil, true, true
  end
  if foreign(said) then error({err = newer}, 0) end
  if string.sub(said, 17) == string.sub(agreed, 17) then return nil, false, true end
  if string.sub(said, 1, 16) == string.sub(agreed, 1, 16) then return nil, false, false end
  return said
end

-- begin writes that all indexes are complete, before there is an item.
local function begin(index_records, agreed)
  local _, micros = clock()
  redis.call('HSET', index_records, '', string.sub(string.format('%.0f', micros), -16) .. string.sub(agreed, 17))
end

-- tidy takes it away after the last item.
local function tidy(index_records)
  if redis.call('HLEN', index_records) == 1 then redis.call('HDEL', index_records, '') end
end
