-- The load for wrk: it writes its requests once, sends them in turn, and ends
-- with one line of figures. Arguments: method, bytes of body, distinct requests;
-- or method, a file with one body per line, and a mark that is twice in each: a
-- number takes its place, so that no body comes twice.

local requests, turn = {}, 0
local pieces, count -- of requests around the marks, if bodies come from a file

local function readBodies(method, file, mark)
	local headers = { ["User-Agent"] = "wrk", ["Accept"] = "*/*", ["Content-Type"] = "application/json" }
	pieces, count = {}, math.random(0, 2 ^ 52)
	for body in io.lines(file) do
		local text = wrk.format(method, string.format("/items/%d?page=%d&sort=name", #pieces, #pieces % 7), headers, body)
		local a, b = text:find(mark, 1, true)
		local c, d = text:find(mark, b + 1, true)
		pieces[#pieces + 1] = { text:sub(1, a - 1), text:sub(b + 1, c - 1), text:sub(d + 1) }
	end
end

function init(args)
	if args[4] then
		math.randomseed(os.time())
		return readBodies(args[1], args[3], args[4])
	end
	local method, size, distinct = args[1], tonumber(args[2]), tonumber(args[3])
	local headers = { ["User-Agent"] = "wrk", ["Accept"] = "*/*" }
	if size > 0 then headers["Content-Type"] = "application/json" end
	for i = 1, distinct do
		local body = nil
		if size > 0 then
			local head = string.format('{"id":%d,"kind":"order","total":%d.50,"rush":true,"lines":[', i, i)
			local line = '{"sku":"P-00042","quantity":3,"note":"by the blue door"},'
			local tail = '{"sku":"P-1","quantity":1,"note":"'
			local n = math.max(0, math.floor((size - #head - #tail - 4) / #line))
			body = head .. line:rep(n) .. tail
			body = body .. ("x"):rep(math.max(0, size - #body - 4)) .. '"}]}'
		end
		requests[i] = wrk.format(method, string.format("/items/%d?page=%d&sort=name", i, i % 7), headers, body)
	end
end

function request()
	if pieces then
		turn = turn % #pieces + 1
		count = count + 1
		local p, number = pieces[turn], string.format("%016x", count)
		return p[1] .. number .. p[2] .. number .. p[3]
	end
	turn = turn % #requests + 1
	return requests[turn]
end

function done(summary, latency)
	local e = summary.errors
	io.write(string.format('bench {"requests":%d,"micros":%d,"p50_us":%d,"p99_us":%d,"broken":%d,"refused":%d}\n',
		summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
		e.connect + e.read + e.write + e.timeout, e.status))
end
