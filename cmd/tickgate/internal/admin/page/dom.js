// What is written into the document goes through here, and as text: nothing that a
// client sent can be markup. What has not changed is left alone, so that a selection
// and a reader's place in a table stay.
const byID = (id) => document.getElementById(id);

function make(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = visible(text);
  return e;
}

function setText(e, text) {
  text = visible(text);
  if (e.textContent !== text) e.textContent = text;
}

function setClass(e, name) { if (e.className !== name) e.className = name; }

// fill makes rows the rows of a table's body. A row is a list of cells, and a cell a
// text, or {text, code, badge, limits, lines, bad}. Without rows, none says so.
function fill(body, rows, none) {
  const heads = body.parentElement.tHead.rows[0].cells;
  const nothing = rows.length === 0;
  if (nothing) rows = [[none]];
  shorten(body, rows.length);
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((cells, i) => {
    let row = body.rows[i];
    if (row && row.cells.length !== cells.length) {
      row.replaceWith(row = make("tr"));
    } else if (!row) {
      row = body.appendChild(make("tr"));
    }
    row.setAttribute("role", "row");
    setClass(row, i >= Number(body.dataset.first || Infinity) ? "rest" : "");
    cells.forEach((cell, j) => {
      if (typeof cell !== "object") cell = { text: cell };
      const head = j === 0 && !nothing;
      let td = row.cells[j];
      if (td && td.tagName !== (head ? "TH" : "TD")) {
        td.remove();
        td = undefined;
      }
      if (!td) {
        td = row.appendChild(make(head ? "th" : "td"));
        td.setAttribute("role", head ? "rowheader" : "cell");
        if (head) td.scope = "row";
      }
      if (nothing) td.colSpan = heads.length;
      else td.dataset.label = heads[j].textContent;
      fillCell(td, cell, nothing ? "none" : heads[j].className);
    });
  });
}

// shorten hides the rows after the first ones, as data-first says, behind a button.
function shorten(body, rows) {
  if (!body.dataset.first) return;
  const button = body.closest(".wide").nextElementSibling;
  if (!button.onclick) {
    body.classList.add("short");
    button.onclick = () => shorten(body, body.rows.length, body.classList.toggle("short"));
  }
  const short = body.classList.contains("short");
  button.hidden = rows <= Number(body.dataset.first);
  button.setAttribute("aria-expanded", !short);
  setText(button, short ? "Show all " + count(rows) : "Show fewer");
}

function fillCell(td, cell, className) {
  if (cell.limits) className += " limits";
  if (cell.lines) className += " lines";
  if (cell.bad) className += " bad";
  if (cell.text === "") className += " empty";
  setClass(td, className.trim());
  if (cell.limits) return fillLimits(td, cell.limits);
  const key = JSON.stringify(cell);
  if (td.shown === key) return;
  td.shown = key;
  const text = cell.lines ? cell.lines.join("\n") : cell.text;
  td.replaceChildren(breakable(make(cell.code ? "code" : "span", "", text)));
  if (cell.badge) td.append(make("span", "badge", cell.badge));
}

// breakable lets a long name, as of an endpoint, break at its dots and slashes.
function breakable(e) {
  const parts = e.textContent.split(/(?<=[./:?&=_])(?=\D)/);
  if (parts.length > 1) e.replaceChildren(...parts.flatMap((part, i) => (i ? [make("wbr"), part] : [part])));
  return e;
}

// fillLimits shows each limit of a policy with what its keys have used.
function fillLimits(td, limits) {
  while (td.children.length > limits.length) td.lastChild.remove();
  limits.forEach((l, i) => {
    let e = td.children[i];
    if (!e || !e.classList.contains("limit")) {
      e = make("div", "limit");
      const bar = make("span", "bar");
      bar.setAttribute("aria-hidden", "true");
      bar.append(make("span"));
      e.append(make("code"), bar, make("span", "soft"));
      td.append(e);
    }
    const [name, bar, text] = e.children;
    setText(name, l.text);
    setClass(bar, l.fullest >= 0.8 ? "bar high" : "bar");
    bar.firstChild.style.width = (100 * l.fullest).toFixed(1) + "%";
    bar.hidden = l.keys === 0;
    setText(text, l.keys === 0 ? "no key" :
      "fullest key " + percent(l.fullest) + ", mean " + percent(l.mean) + ", " + count(l.used_up) + " of " + plural(l.keys, "key") + " at the limit");
  });
}

// pairs makes list the names and values of a description list.
function pairs(dl, list) {
  while (dl.children.length > 2 * list.length) dl.lastChild.remove();
  list.forEach(([name, value, bad], i) => {
    if (!dl.children[2 * i]) dl.append(make("dt"), make("dd"));
    setText(dl.children[2 * i], name);
    const dd = dl.children[2 * i + 1];
    setText(dd, value);
    setClass(dd, bad ? "bad" : "");
  });
}
