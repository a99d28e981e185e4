// The page asks for its data once a second, and shows it.
const kept = 600, pollEvery = 1000, retryEvery = 2000, patience = 5000;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

const plots = [
  new Plot(byID("plot-all"), [
    { name: "allowed", low: () => 0, high: (p) => p[1] },
    { name: "denied", low: (p) => p[1], high: (p) => p[1] + p[2] },
  ], (p) => rate(p[1]) + " allowed, " + rate(p[2]) + " denied a second"),
  new Plot(byID("plot-denied"), [
    { name: "shadowed", low: () => 0, high: (p) => p[3], line: true },
    { name: "denied", low: () => 0, high: (p) => p[2] },
  ], (p) => rate(p[2]) + " denied, " + rate(p[3]) + " in shadow mode a second"),
];

let points = [], started = 0, drawn = 0, paused = false, timer = 0, asking = false, lost = 0;

async function poll() {
  clearTimeout(timer);
  if (asking || paused || document.hidden) return;
  asking = true;
  let wait = pollEvery;
  const begun = performance.now();
  try {
    const since = points.length ? "?since=" + points[points.length - 1][0] : "";
    const answer = await fetch("/debug/tickgate/data" + since, { cache: "no-store", signal: AbortSignal.timeout(patience) });
    if (!answer.ok) throw new Error("status " + answer.status);
    show(await answer.json());
    lost = 0;
    if (!paused) state("live", "on");
  } catch (e) {
    lost = lost || Date.now();
    state("no answer since " + clock(lost, lost), "off");
    wait = retryEvery;
  }
  asking = false;
  timer = setTimeout(poll, Math.max(0, wait - (performance.now() - begun)));
}

// state says how the page is doing. It is read aloud, so it is only written on a change.
function state(text, name) {
  setText(byID("state"), text);
  setClass(byID("state"), name);
}

byID("pause").addEventListener("click", () => {
  paused = !paused;
  byID("pause").setAttribute("aria-pressed", paused);
  setText(byID("pause"), paused ? "Go on" : "Pause");
  state(paused ? "paused" : "connecting", "");
  poll();
});
document.addEventListener("visibilitychange", poll);
byID("minutes").addEventListener("toggle", showMinutes);

function show(d) {
  if (d.process.started !== started) { // another process: its points do not follow ours
    started = d.process.started;
    points = [];
  }
  points = points.concat(d.points).filter((p) => p[0] > d.at - shownFor).slice(-kept);
  showFacts(d);
  // With reduced motion the plots move every ten seconds only.
  if (!calm.matches || d.at - drawn >= 10e3 || drawn > d.at) {
    drawn = d.at;
    for (const p of plots) p.draw(points, d.at);
    showMinutes();
  }
  showNotes(d);
  showPolicies(d);
  showTop(d);
  showRejects(d);
  showChanges(d);
  showShared(d.sync);
  showSources(d);
  showMachine(d);
  for (const e of document.querySelectorAll(".wide")) { // what scrolls is reached by keys
    const scrolls = e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1;
    if (scrolls) e.tabIndex = 0;
    else e.removeAttribute("tabindex");
  }
}

function showFacts(d) {
  const last = points[points.length - 1];
  setText(byID("process"), [d.process.version, d.process.version.includes(d.process.go) ? "" : d.process.go, "up " + span(Math.round((d.at - d.process.started) / 1000))].filter(Boolean).join(", "));
  setText(byID("f-rate"), last ? rate(last[1] + last[2]) : "–");
  setText(byID("f-denied"), last ? rate(last[2]) : "–");
  setText(byID("f-hits"), d.gate.decided ? percent(d.gate.hit_rate) : "–");
  setText(byID("f-keys"), count(d.gate.keys));
  setText(byID("f-keys-of"), "of " + count(d.gate.capacity) + ", " + percent(d.gate.keys / d.gate.capacity));
  const q = d.latency && d.latency.samples ? d.latency.quantiles : null;
  setText(byID("f-p50"), q ? span(q[0]) : "–");
  setText(byID("f-p90"), q ? "90 %: " + span(q[1]) : d.latency ? "no sample yet" : "not sampled");
  setText(byID("f-p99"), q ? span(q[2]) : "–");
  setText(byID("f-p999"), q ? "99.9 %: " + span(q[3]) + ", of " + plural(d.latency.samples, "sample") : "\u00a0");
}

// showMinutes is for those who cannot see the plots.
function showMinutes() {
  if (!byID("minutes").open) return;
  const minutes = new Map();
  for (const p of points) {
    const m = Math.floor(p[0] / 60e3) * 60e3, sum = minutes.get(m) || [0, 0, 0, 0];
    minutes.set(m, [sum[0] + 1, sum[1] + p[1], sum[2] + p[2], sum[3] + p[3]]);
  }
  fill(byID("minutes-rows"), [...minutes].reverse().map(([m, [n, a, d, s]]) =>
    [clock(m, m).slice(0, 5), rate(a / n), rate(d / n), rate(s / n)]), "No data yet.");
}

// showNotes says what needs attention. It is read aloud when it changes.
function showNotes(d) {
  const notes = d.not_ready.map((r) => "Not ready: " + r.part + ", " + r.reason + ".");
  const everyone = d.changes.find((c) => c.everyone && !c.fault);
  if (everyone && everyone.what === "block") notes.push("Everyone is blocked, by " + (everyone.who || "nobody named") + ".");
  if (d.sync && d.sync.away) notes.push("Redis does not answer: the fuse is open, and the rule for that decides.");
  for (const s of d.sources || []) if (s.last_error) notes.push("Source " + s.name + ": no new policies, the last good ones stay. " + s.last_error);
  if (d.gate.evicted_forced) notes.push(plural(d.gate.evicted_forced, "key was", "keys were") + " dropped before it had recovered: there is room for too few keys.");
  const list = byID("notes"), text = notes.join("\u0000");
  if (list.shown === text) return;
  list.shown = text;
  list.hidden = notes.length === 0;
  list.replaceChildren(...notes.map((n) => make("li", "", n)));
}

function showPolicies(d) {
  const l = d.look;
  setText(byID("policies-note"), (d.policy_version ? "Version " + d.policy_version + ". " : "") +
    "Use is of " + (l.partial ? "the first " : "") + plural(l.keys, "key") + (l.partial ? " of " + count(d.gate.keys) : "") + ", as of " + clock(l.at, d.at) + "." +
    (l.blocked ? " Blocked: " + count(l.blocked) + "." : "") + (l.banned ? " Banned: " + count(l.banned) + "." : "") +
    (d.gate.no_policy ? " Denied for want of a policy: " + count(d.gate.no_policy) + "." : "") +
    (d.gate.bad_requests ? " Malformed: " + count(d.gate.bad_requests) + "." : "") +
    (d.more_policies ? " " + plural(d.more_policies, "policy", "policies") + " more not shown." : ""));
  fill(byID("policies-rows"), d.policies.map((p) => [
    { text: p.endpoint, badge: p.shadow ? "shadow" : "" }, { limits: p.limits },
    count(p.allowed - p.shadowed), count(p.denied - p.barred), count(p.barred), count(p.shadowed),
  ]), "There is no policy: everything is denied.");
}

function showTop(d) {
  setText(byID("top-note"), d.top.since ? "Counted since " + clock(d.top.since, d.at) + ". " + keyNote(d) : keyNote(d));
  fill(byID("top-rows"), d.top.keys.map((k) => [
    { text: k.key, code: true }, k.at_least === k.denied ? count(k.denied) : count(k.at_least) + " to " + count(k.denied),
    clock(k.last, d.at), k.endpoint,
  ]), "No key was denied lately.");
}

function keyNote(d) { return d.keys_shown ? "" : "A key is shown as a hash that only this process makes; /v1/usage?apikey= tells that of a key."; }

function showRejects(d) {
  setText(byID("rejects-note"), d.rejects.last.length < d.rejects.total ?
    "The last " + count(d.rejects.last.length) + " of " + count(d.rejects.total) + " since the start." : "Since the start.");
  fill(byID("rejects-rows"), d.rejects.last.map((r) => [
    clock(r.at, d.at), { text: r.key, code: true }, r.endpoint, r.limit, r.reason, count(r.cost), span(r.retry_after), r.version,
  ]), "Nothing was denied.");
}

function showChanges(d) {
  setText(byID("changes-note"), "The last 20 are shown; the log has all.");
  fill(byID("changes-rows"), d.changes.map((c) => {
    const lines = c.fault ? ["Refused: " + c.fault] : (c.lines || []).slice();
    if (c.more) lines.push("and " + count(c.more) + " more");
    const whom = c.everyone ? " everyone" : c.key ? " " + c.key : "";
    return [clock(c.at, d.at), c.who || "nobody named", c.what + whom, { lines: lines, bad: Boolean(c.fault), text: lines.length ? undefined : "" }];
  }), "Nothing was changed since the start.");
}

function showShared(s) {
  pairs(byID("shared-pairs"), !s ? [["Redis", "not attached: budgets are this process' own"]] : [
    ["Fuse", s.away ? "open: Redis does not answer" : "closed", s.away],
    ["Opened", plural(s.fuse_opened, "time")],
    ["Age of the view", span(s.view_age), s.away],
    ["Processes", count(s.nodes)],
    ["Admitted too much", "at most " + plural(s.overshoot, "token") + " of one key, by all processes together"],
    ["Credit used", percent(s.credit_used) + " by the key with most"],
    ["Time of a call", "median " + span(s.median) + ", 99 % " + span(s.p99)],
    ["Longest wait", span(s.oldest_wait)],
    ["Calls", count(s.sent) + " sent, " + count(s.acked) + " answered, " + count(s.unknown) + " unknown, " + count(s.failed) + " failed"],
    ["Keys lost by Redis", count(s.lost), s.lost > 0],
    ["Admitted while away", plural(s.granted, "token")],
  ]);
}

function showSources(d) {
  const all = d.sources || [];
  byID("sources-note").hidden = all.length > 0;
  setText(byID("sources-note"), "None is followed: policies are those that the process began with.");
  const table = byID("sources-rows").closest(".wide");
  table.hidden = all.length === 0;
  fill(byID("sources-rows"), all.map((s) => [
    s.name, s.version, count(s.policies), s.connection, ago(s.last_success, d.at), count(s.applied), count(s.refused),
    s.last_error ? { lines: s.last_error.split("\n"), bad: true } : "none",
  ]), "");
}

function showMachine(d) {
  const t = d.table, p = d.pages, c = d.clock;
  byID("shards").hidden = !(t && t.shards && t.shards.length);
  if (!byID("shards").hidden) showShards(t, d.gate);
  pairs(byID("machine-pairs"), [
    ["Keys", count(d.gate.keys) + " of " + count(d.gate.capacity) + " (" + percent(d.gate.keys / d.gate.capacity) + ")"],
    ["Dropped for room", count(d.gate.evicted_idle) + " idle, " + count(d.gate.evicted_forced) + " that still owed", d.gate.evicted_forced > 0],
    t && ["Memory of the table", bytes(t.bytes) + (t.off_heap ? ", off the heap" : ", on the heap") + (t.huge ? ", huge pages asked for" : "")],
    p && ["Huge pages", (p.setting || "not told") + ", " + bytes(p.huge) + " of the process' " + bytes(p.anonymous)],
    ["Clock", c.name + ": " + c.reason],
    c.hz > 0 && ["Counter", (c.hz / 1e6).toFixed(3) + " MHz" + (c.drift_over ? ", drift " + Number(c.drift_ppm.toFixed(3)) + " ppm over " + span(c.drift_over) : "")],
    c.jumps > 0 && ["Jumps of the clock", count(c.jumps), true],
    ["Go", d.process.go + ", " + plural(d.process.procs, "processor") + ", " + plural(d.process.goroutines, "goroutine") + ", heap " + bytes(d.process.heap_bytes)],
  ].filter(Boolean));
}

// showShards draws how many keys each shard has.
function showShards(t, gate) {
  const most = Math.max(1, ...t.shards), wide = 100 / t.shards.length;
  setText(byID("shards-text"), plural(t.shards.length, "shard") + " of " + count(t.slots / t.shards.length) + " slots: " +
    count(Math.min(...t.shards)) + " to " + plural(Math.max(...t.shards), "key") + " in each, " + count(gate.keys) + " in all.");
  byID("shards").querySelector("path").setAttribute("d", t.shards.map((n, i) =>
    "M" + (i * wide + wide * 0.1).toFixed(3) + " 100v" + (-100 * n / most).toFixed(1) + "h" + (wide * 0.8).toFixed(3) + "V100z").join(""));
}

poll();
