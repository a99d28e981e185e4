-- Requests of many callers for wrk, one after the other:
--
--   wrk -t1 -c64 -d5s -s wrk.lua http://127.0.0.1:PORT/query -- CALLERS
--
-- The requests are written once, so that wrk takes little of the processors.

local requests, n, i = {}, 0, 0

function init(args)
  n = tonumber(args[1]) or 10000
  for k = 1, n do
    requests[k] = wrk.format("GET", nil, { Authorization = string.format("Bearer account-%06d", k - 1) })
  end
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
