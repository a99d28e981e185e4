// How numbers and times are written.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const oneDigit = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const never = "never";

// visible writes characters that are not seen, or that turn the direction of others, as
// JSON would: "\u202e".
function visible(text) {
  return String(text).replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

function count(n) { return whole.format(n); }

// rate writes a number a second: small ones with a digit behind the point.
function rate(n) { return n < 100 ? oneDigit.format(n) : whole.format(n); }

function percent(share) { return oneDigit.format(100 * share) + " %"; }

function plural(n, one, many) { return count(n) + " " + (n === 1 ? one : many || one + "s"); }

// span writes seconds in the unit that suits them; -1 is never.
function span(s) {
  if (s < 0) return never;
  if (s === 0) return "0 s";
  const three = (x, unit) => Number(x.toPrecision(3)) + " " + unit;
  if (s < 0.9995e-6) return three(s * 1e9, "ns");
  if (s < 0.9995e-3) return three(s * 1e6, "µs");
  if (s < 0.9995) return three(s * 1e3, "ms");
  if (s < 59.95) return three(s, "s");
  const r = Math.round(s);
  if (r < 3600) return Math.floor(r / 60) + " min " + (r % 60 ? (r % 60) + " s" : "");
  if (r < 86400) return Math.floor(r / 3600) + " h " + Math.floor(r % 3600 / 60) + " min";
  return count(Math.floor(r / 86400)) + " d " + Math.floor(r % 86400 / 3600) + " h";
}

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return oneDigit.format(n) + " " + units[i];
}

// clock writes the time of day of a time in ms, and the date if it is over half a day
// away from now.
function clock(ms, now) {
  const d = new Date(ms);
  const time = d.toLocaleTimeString("en-GB");
  return Math.abs(now - ms) < 43200e3 ? time : d.toLocaleDateString("sv") + " " + time;
}

function ago(ms, now) { return ms ? span(Math.max(0, Math.round((now - ms) / 1000))) + " ago" : never; }
