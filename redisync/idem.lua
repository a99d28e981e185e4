-- One step on one record of an idempotency store. KEYS[1] is the record:
--
--   '1' | state 1 | fence 16 | free 16 | owner 16 | fingerprint 32 | value
--
-- state  f in flight, d done, r released: free, but the fence and the owner are
--        still known
-- fence  decimal; the server's time in microseconds when the key was given away,
--        or one more than the last fence if that is more
-- free   decimal; in microseconds of the server's time, when another may have it;
--        0 where it is released
-- owner  hex; made by the caller of Begin, a new one for each
--
-- ARGV[1] is the step, ARGV[2] an owner. Spans are in microseconds. The reply is an
-- array: a code, and for some a number and a value.

local ACQUIRED, INFLIGHT, DONE, MISMATCH, UNDONE = 1, 2, 3, 4, 5
local OK, LOST, FULL, FOREIGN = 0, 6, 7, 8
local HEAD = 82

-- What always fits, also if Redis has no memory left: every result was preceded by
-- a Begin, which was refused in that case.
local ROOMY = 256

local step, owner = ARGV[1], ARGV[2]
local head = redis.call('GETRANGE', KEYS[1], 0, HEAD - 1)
local state, fence, free, holder, print = 'r', string.rep('0', 16), 0, '', string.rep('\0', 32)
if head ~= '' then
  state = string.match(head, '^1([fdr])')
  fence = string.sub(head, 3, 18)
  free = tonumber(string.sub(head, 19, 34))
  if #head < HEAD or not state or not tonumber(fence) or not free then
    return {FOREIGN}
  end
  holder = string.sub(head, 35, 50)
  print = string.sub(head, 51, 82)
end

local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])

-- Not '..' on numbers: it keeps 14 digits.
local function digits(n)
  return string.format('%016.0f', n)
end

-- Rounded up, and one more: the server's time of expiry was read before now.
local function millis(span)
  return string.format('%.0f', math.ceil(span / 1000) + 1)
end

-- put writes the record, to be dropped in px ms. A SET without memory fails and
-- changes nothing; once a script has written, the server lets it finish, and a DEL
-- needs no memory. So a record can be replaced by one that is no larger, or not
-- much, where force is set.
local function put(code, number, force, px, ends, value)
  local record = '1' .. state .. fence .. digits(ends) .. owner .. print .. value
  local r = redis.pcall('SET', KEYS[1], record, 'PX', px)
  if r.err and string.find(r.err, 'OOM', 1, true) then
    if not force then
      return {FULL}
    end
    redis.call('DEL', KEYS[1])
    r = redis.pcall('SET', KEYS[1], record, 'PX', px)
  end
  if r.err then
    return r
  end
  return {code, number}
end

-- begin: span of the lease, fingerprint, owners that gave up
if step == 'b' then
  local lease, mine, dead = tonumber(ARGV[3]), ARGV[4], ARGV[5]
  if holder == owner and state == 'f' then
    -- The caller asks again, since the answer was lost.
    return put(ACQUIRED, tonumber(fence), true, millis(2 * lease), now + lease, '')
  elseif holder == owner and state == 'r' then
    -- It gave up meanwhile: this call came too late.
    return {UNDONE}
  end
  local given_up = state == 'f' and string.find(dead, holder, 1, true)
  if free > now and not given_up then
    if print ~= mine then
      return {MISMATCH}
    elseif state == 'd' then
      return {DONE, 0, redis.call('GETRANGE', KEYS[1], HEAD, -1)}
    end
    return {INFLIGHT, free - now}
  end
  local given = math.max(now, tonumber(fence) + 1)
  state, fence, print = 'f', digits(given), mine
  return put(ACQUIRED, given, head ~= '', millis(2 * lease), now + lease, '')
end

-- undo: span to remember it for. The owner gave Begin up without an answer. Its
-- call may come yet: it is to find that it was undone.
if step == 'u' then
  if head == '' then
    state = 'r'
    return put(OK, 0, false, millis(tonumber(ARGV[3])), 0, '')
  elseif holder == owner and state == 'f' then
    state = 'r'
    return put(OK, 0, true, math.max(redis.call('PTTL', KEYS[1]), 1), 0, '')
  end
  return {OK}
end

-- The others have the owner's fence.
if holder ~= owner or fence ~= ARGV[3] then
  return {LOST}
end

-- complete: span of the result, value
if step == 'c' then
  if state == 'd' then
    return {OK} -- it did it before
  elseif state ~= 'f' then
    return {LOST}
  end
  local ttl = tonumber(ARGV[4])
  state = 'd'
  return put(OK, 0, #ARGV[5] <= ROOMY, millis(ttl), now + ttl, ARGV[5])
end

-- release: whether it was asked before, and the answer lost
if step == 'r' then
  if state == 'r' and ARGV[4] == '1' then
    return {OK}
  elseif state ~= 'f' then
    return {LOST}
  end
  state = 'r'
  return put(OK, 0, true, math.max(redis.call('PTTL', KEYS[1]), 1), 0, '')
end

-- extend: span of the lease
if state ~= 'f' then
  return {LOST}
end
local lease = tonumber(ARGV[4])
return put(OK, 0, true, millis(2 * lease), now + lease, '')
