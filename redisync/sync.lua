-- One budget in Redis: every operation on it, in one script.
--
-- ARGV[1] names the operation and the protocol's number. All arguments and all
-- replies are integers, but for the names of nodes. Tokens are whole; levels
-- are millionths of a token; times are microseconds of the server's clock.
--
--   c1  KEYS key        slot epoch total base  A B C v  keep est debt
--       -> status level now created forgiven total  v A B C
--   t1  KEYS key        the same, then n
--       -> the same, then allowed retry
--   l1  KEYS key mark   slot epoch seen gone returned want  A B C v  keep term marklife leave
--       -> status granted gone level now created learning wants  v A B C
--   m1  KEYS mark       age life              -> made now since
--   h1  KEYS nodes      node life             -> count now created
--   x1  KEYS nodes      node                  -> count now 0
--
-- keep, term, life, age: milliseconds.  status: 0 done, 1 done under the key's
-- own policy, which is not older than the caller's, 2 nothing was done: the call
-- belongs to a record that its node has given up since.
--
-- A budget's HASH:
--   l  level, negative in debt          t  when it had that level
--   f  what is refilled beyond l, as a numerator over B; not there: 0
--   p  the policy in force, v:A:B:C     k  when to look for nodes that are gone, s
--   h  lease: tokens held : wanted : when the next lease may end
--   <slot>  one node.  credit  epoch:total:s
--                      lease   epoch:granted:gone:returned:want:end
--
-- Arithmetic. Lua's numbers are doubles, whole up to 2^53. A·B < 2^51, levels
-- and C lie within 2^52, and a product is only formed from parts that keep it
-- below 2^53, so every step is exact. floor(x / y) is exact too: for whole
-- x < 2^53 a quotient that is not whole is at least 1/y away from the next
-- whole number, which is more than half of a double's step there. redis.call
-- prints numbers with %.17g, which is exact; ".." and tostring lose digits above
-- 10^14, hence int.
--
-- The script runs anew for every call, so a function costs at each: those of a
-- lease are made for a lease only, and credit, the frequent call, has none.

local U = 1000000
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local call, op = redis.call, ARGV[1]

local clock = call('TIME') -- once: it moves within a script
local now = clock[1] * U + clock[2]

local function int(n) return string.format('%.0f', n) end

-- The budget at hand: level, its time, its fraction, the policy in force, and
-- the tokens that leases hold.
local key = KEYS[1]
local l, t, f, held = 0, 0, 0, 0
local v, A, B, C = 0, 0, 0, 0

-- advance refills up to a time; nothing if it is not later than t, which so
-- never moves back. Leases count as full: l + held never exceeds C by refill.
-- Where the gain does not fit 2^53 it is far beyond the room, and only compared.
local function advance(to)
  if to <= t then return end
  local dt, room = to - t, C - held * U - l
  local whole = floor(dt / B)
  local rest = (dt - whole * B) * A + f
  local part = floor(rest / B)
  local gain = whole * A + part
  if gain >= room then
    l, f = l + max(room, 0), 0
  else
    l, f = l + gain, rest - part * B
  end
  t = to
end

-- wait is the shortest refill, in µs from t, after which l has grown by need.
local function wait(need)
  if need <= 0 then return 0 end
  local whole = floor(need / A)
  return whole * B + ceil(((need - whole * A) * B - f) / A)
end

-- known puts a key's policy in force; text is the caller's, from ARGV[i] on, mostly
-- the same. A key without one takes that.
local function known(p, text, i)
  if not p or p == text then
    A, B, C, v = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  else
    v, A, B, C = string.match(p, '^(%d+):(%d+):(%d+):(%d+)$')
  end
  v, A, B, C = tonumber(v), tonumber(A), tonumber(B), tonumber(C)
end

-- convert puts the caller's policy in force if it is newer, after the refill by the
-- older: what is used stays used, so the level moves by the change of the capacity.
-- The fraction, less than a millionth of a token, is dropped if its unit changes. It
-- returns whether the policy is to be written, and the status.
local function convert(i)
  local a, b, c, n = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  if n > v then
    if b ~= B then f = 0 end
    l = l + c - C
    v, A, B, C = n, a, b, c
    return true, 0
  end
  return false, (a ~= A or b ~= B or c ~= C) and 1 or 0
end

-- save writes the budget and what more is given, and has it expire when it is full
-- again and nobody has used it for keep: then a new one is the same. more is the least
-- time, in µs, until then. t is ahead of now if the server's clock was set back, and
-- while a lease key learns.
local function save(keep, more, ...)
  call('HSET', key, 'l', l, 't', t, 'f', f == 0 and '0' or f, ...) -- printing a number takes 0.6 µs
  local us = more + max(0, t - now) + wait(C - l)
  call('PEXPIRE', key, min(ceil(us / 1000) + keep, 1e15))
end

-- Credit. A node sends all that it ever used in this epoch, not what is new, so
-- a call that is lost, repeated or late needs no care: the difference to what
-- Redis has is charged, and if Redis has lost a part, that is charged again.
if op == 'c1' and #ARGV == 12 or op == 't1' and #ARGV == 13 then
  local slot, epoch, total, base = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
  local keep, est, debt = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
  local text = ARGV[9] .. ':' .. ARGV[6] .. ':' .. ARGV[7] .. ':' .. ARGV[8]
  local r = call('HMGET', key, 'l', 't', 'f', 'p', 'k', slot)
  local created, status, charged = not r[1], 0, base
  local changed = created
  known(r[4], text, 6)
  if created then
    l, t = min(C, est), now
  else
    l, t, f = tonumber(r[1]), tonumber(r[2]), tonumber(r[3])
    advance(now)
    local e, n
    if r[6] then
      e, n = string.match(r[6], '^(%d+):(%d+):')
      e = tonumber(e)
      if e > epoch then
        local reply = { 2, l, now, 0, 0, 0, v, A, B, C }
        if op == 't1' then reply[11], reply[12] = 0, 0 end
        return reply
      end
      -- An earlier record of this node: Redis fell back to it, and all that this
      -- one was charged is lost, whatever was acknowledged; or it is new, and that is 0.
      charged = e == epoch and tonumber(n) or 0
    end
    if r[4] ~= text then changed, status = convert(6) end
    -- If this node's part was pruned, or Redis has lost it, then perhaps with what
    -- was charged: the node's own view is the better one.
    if not e and base > 0 then l = min(l, est) end
  end
  if total > charged then l = l - (total - charged) * U else total = charged end
  local forgiven = max(0, -debt - l)
  l = l + forgiven
  local reply = { status, l, now, created and 1 or 0, forgiven, total, v, A, B, C }

  if op == 't1' then
    local n = tonumber(ARGV[13]) * U
    reply[11], reply[12] = 0, 0
    if l >= n then
      l = l - n
      reply[2], reply[11] = l, 1
    elseif n > C then
      reply[12] = -1
    else
      reply[12] = min(wait(n - l) + t - now, 2^53 - 1)
    end
  end

  if slot == '' then
    save(keep, 0)
  else
    save(keep, 0, slot, ARGV[3] .. ':' .. int(total) .. ':' .. clock[1])
    -- Nodes that were not heard of for keep are forgotten. One that comes back has
    -- had all its calls answered by then, and its base says what was charged.
    local seconds, next = tonumber(clock[1]), tonumber(r[5] or 0)
    if seconds >= next then
      local all, gone = next > 0 and call('HGETALL', key) or {}, {}
      for i = 1, #all, 2 do
        local last = string.match(all[i + 1], '^%d+:%d+:(%d+)$')
        if last and last + keep / 1000 < seconds then gone[#gone + 1] = all[i] end
      end
      for i = 1, #gone, 1000 do
        call('HDEL', key, unpack(gone, i, min(i + 999, #gone)))
      end
      call('HSET', key, 'k', seconds + ceil(keep / 1000) + 1)
    end
  end
  if changed then call('HSET', key, 'p', text) end
  return reply
end

-- Lease. Nodes spend only what they were granted before. Let H be what they
-- hold in truth and may still spend. Claim: in any span τ of the server's clock
-- at most C + r·τ is spent.
--
--   Φ = l + H grows by refill alone, at rate r. A grant moves tokens from l to
--   H, a return moves them back, and spending lowers H. If Φ ≤ C at all times
--   and l ≥ 0, what is spent from t1 to t2 is Φ(t1) + refill − Φ(t2) ≤ C + r·τ.
--
--   Φ ≤ C: refill stops at l = C − held, and held ≥ H, because Redis hears of
--   spending late. So advance must run with held as it was *before* the call's
--   news: when those tokens were spent since t is not known, and it may have been
--   just now. For the same reason a lease that ended is taken as spent at its
--   end and not before, and refill goes by pieces from end to end (sweep).
--
--   held ≥ H also needs that a node spends nothing after its lease's end here:
--   it counts the term from before it sent the call, the script from when it
--   runs, and adds 1/64 and 1 ms, because two clocks may run at unlike speeds.
--
--   A lost reply: the node's next call says that it has seen less than it was
--   granted. It is told the whole sum again and granted nothing more. Return
--   and spending are sums too, so a repeated call changes nothing. Tokens are
--   returned to l only as far as held falls in the same call: what was written
--   off before is not to come back.
--
--   Lost data. A key that is not there may be new, or lost: its leases may
--   still be spent, and its last token may have been spent just now. The bucket's
--   mark tells the two apart. FLUSHALL and an empty restart take it along, and
--   nothing but that does, so: a key that is missing while the mark dates from m
--   was not lost after m. At m, at worst Φ was made up of leases alone (l = 0),
--   all of which end within one term. So l = 0 until m + term, and refill from
--   then on, with no other leases than those granted since, is never more than
--   the lost state would have allowed. If a lease that is reported (seen > gone)
--   makes the key, a term or more after m, the key itself was lost (evicted or
--   deleted), and the mark is made anew.
--
--   A lease that is not known here, or was granted beyond what is, is not held
--   again: the call may be late, and the lease written off and granted to others before
--   Redis lost its data. The node is told that all of it is gone, and drops it.
--
--   What is not covered: a replica that takes over without the last grants, and
--   single keys evicted while others use them. Then what a node says it was
--   granted beyond what is known is charged when it calls, and l may be negative
--   for a while: nothing is forgiven, but the bound is late by that much.

if op == 'l1' and #ARGV == 15 and #KEYS == 2 then
  -- sweep writes off the leases that have ended, each at its end, and counts what
  -- is held and wanted anew. It returns when the next may end.
  local function sweep(keep, hold)
    local all, ended, gone, rewrite = call('HGETALL', key), {}, {}, {}
    local wants, scan = 0, now + hold
    held = 0
    for i = 1, #all, 2 do
      local e, g, d, r, w, stop = string.match(all[i + 1], '^(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)$')
      if e then
        stop = tonumber(stop)
        local left = g - d
        held = held + left
        if stop > now then
          wants, scan = wants + w, min(scan, stop)
        elseif stop + keep * 1000 <= now then
          gone[#gone + 1] = all[i]
        elseif left > 0 or w ~= '0' then
          rewrite[#rewrite + 1] = all[i]
          rewrite[#rewrite + 1] = table.concat({ e, g, g, r, 0, int(stop) }, ':')
        end
        if stop <= now and left > 0 then ended[#ended + 1] = { stop, left } end
      end
    end
    table.sort(ended, function(x, y) return x[1] < y[1] end)
    for _, lease in ipairs(ended) do
      advance(lease[1])
      held = held - lease[2]
    end
    for i = 1, #gone, 1000 do
      call('HDEL', key, unpack(gone, i, min(i + 999, #gone)))
    end
    for i = 1, #rewrite, 1000 do
      call('HSET', key, unpack(rewrite, i, min(i + 999, #rewrite)))
    end
    return wants, scan
  end

  local slot, epoch, seen, returned, want = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[6]), tonumber(ARGV[7])
  local gone = min(tonumber(ARGV[5]), seen)
  local keep, term, life, leave = tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14]), ARGV[15] == '1'
  local hold = term * 1000 + ceil(term * 1000 / 64) + 1000
  local r = call('HMGET', key, 'l', 't', 'f', 'p', 'h', slot)
  local created, status, wants, scan, own = not r[1], 0, 0, now + hold, r[6]
  local changed = created
  local text = ARGV[11] .. ':' .. ARGV[8] .. ':' .. ARGV[9] .. ':' .. ARGV[10]
  known(r[4], text, 8)
  if created then
    local since = tonumber(call('GET', KEYS[2]) or nil)
    if not since or (seen > gone and now >= since + hold) then since = now end
    call('SET', KEYS[2], since, 'PX', life)
    t = since + hold
    advance(now)
  else
    l, t, f = tonumber(r[1]), tonumber(r[2]), tonumber(r[3])
    local a, b, c = string.match(r[5], '^(%d+):(%d+):(%d+)$')
    held, wants, scan = tonumber(a), tonumber(b), tonumber(c)
    if now >= scan then
      wants, scan = sweep(keep, hold)
      own = call('HGET', key, slot)
      call('PEXPIRE', KEYS[2], life)
    end
    advance(now)
    if r[4] ~= text then changed, status = convert(8) end
  end

  local G, D, R = seen, gone, returned
  local e
  if own then
    local g, d, b, w
    e, g, d, b, w = string.match(own, '^(%d+):(%d+):(%d+):(%d+):(%d+):')
    e = tonumber(e)
    if e > epoch then
      -- What sweep wrote off must not be lost again.
      save(keep, hold, 'h', int(held) .. ':' .. int(wants) .. ':' .. int(scan))
      if changed then call('HSET', key, 'p', text) end
      return { 2, 0, 0, l, now, 0, t > now and 1 or 0, wants, v, A, B, C }
    end
    wants = wants - w
    if e == epoch then
      G, D, R = tonumber(g), tonumber(d), tonumber(b)
    else
      held = held - (g - d) -- given up with its record
    end
  end
  if e ~= epoch then
    D = seen -- not known here: written off
  else
    if seen > G then
      -- Redis fell back. What it forgot that it granted is charged, and the rest of the
      -- lease is written off.
      l, held = l - (seen - G) * U, held - (G - D)
      G, D = seen, seen
    end
    local less = max(0, gone - D)
    held, D = held - less, D + less
    if returned > R then
      l, R = l + min(returned - R, less) * U, returned
    end
  end

  if leave then want = 0 end
  wants = wants + want
  local tokens, grant = floor(l / U), 0
  if want > 0 and tokens >= 1 and seen == G then
    local share = min(floor(tokens * (want / wants)), floor(tokens / 2))
    grant = min(want, max(1, share))
    l, held, G = l - grant * U, held + grant, G + grant
  end

  scan = min(scan, now + hold)
  local sums = int(held) .. ':' .. int(wants) .. ':' .. int(scan)
  if leave and D == G then
    save(keep, hold, 'h', sums)
    if own then call('HDEL', key, slot) end
  else
    save(keep, hold, 'h', sums, slot,
      table.concat({ ARGV[3], int(G), int(D), int(R), int(want), int(now + hold) }, ':'))
  end
  if changed then call('HSET', key, 'p', text) end
  return { status, G, D, l, now, created and 1 or 0, t > now and 1 or 0, wants, v, A, B, C }
end

-- The mark of a bucket of lease keys: made if it is not there, and renewed.
if op == 'm1' and #ARGV == 3 then
  local made = call('SET', key, now - ARGV[2] * 1000, 'NX') and 1 or 0
  call('PEXPIRE', key, ARGV[3])
  return { made, now, tonumber(call('GET', key)) }
end

-- Nodes count that were heard of within life.
if op == 'h1' and #ARGV == 3 then
  local ms = floor(now / 1000)
  local created = call('EXISTS', key) == 0 and 1 or 0
  call('ZREMRANGEBYSCORE', key, '-inf', '(' .. int(ms - ARGV[3]))
  call('ZADD', key, ms, ARGV[2])
  call('PEXPIRE', key, ARGV[3])
  return { call('ZCARD', key), now, created }
end
if op == 'x1' and #ARGV == 2 then
  call('ZREM', key, ARGV[2])
  return { call('ZCARD', key), now, 0 }
end

return redis.error_reply('ERR tickgate: no such call: ' .. tostring(op) .. ' with ' .. #ARGV .. ' arguments')
