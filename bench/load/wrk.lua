-- Requests of many callers for wrk, one after the other:
--
--   wrk -t1 -c64 -d5s -s wrk.lua http://127.0.0.1:PORT -- CALLERS [query|take|take-64]
--
-- query asks a service, take the check API, take-64 the same for 64 callers at once.
-- The requests are written once, so that wrk takes little of the processors.

local requests, n, i = {}, 0, 0

local function account(k, callers)
  return string.format("account-%06d", k % callers)
end

local function query(k, callers)
  return wrk.format("GET", "/query", { Authorization = "Bearer " .. account(k, callers) })
end

local function one(k, callers)
  return string.format('{"apikey":"%s","endpoint":"order.new","n":1}', account(k, callers))
end

local function post(body)
  return wrk.format("POST", "/v1/take", { ["Content-Type"] = "application/json" }, body)
end

local function take(k, callers)
  return post(one(k, callers))
end

local function take64(k, callers)
  local all = {}
  for j = 0, 63 do all[j + 1] = one(64 * k + j, callers) end
  return post('{"requests":[' .. table.concat(all, ",") .. "]}")
end

function init(args)
  local callers, what = tonumber(args[1]) or 10000, args[2] or "query"
  n = callers
  local ask = query
  if what == "take" then ask = take end
  if what == "take-64" then ask, n = take64, math.max(1, math.floor(callers / 64)) end
  for k = 1, n do requests[k] = ask(k - 1, callers) end
end

function request()
  i = i % n + 1
  return requests[i]
end

-- One line for programs: times in microseconds, refused are answers of status 400
-- and above.
function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format("result requests=%d us=%d bytes=%d p50=%d p99=%d refused=%d failed=%d\n",
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99),
    e.status, e.connect + e.read + e.write + e.timeout))
end
