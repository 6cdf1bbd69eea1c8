// What differs between two texts, line by line. Pure functions.

const most = 1_000_000; // cells of the table that is filled

// diff returns rows [sign, old, new]: sign is "" where both are the same, "~"
// where a line is another one, "-" where it goes, "+" where it comes.
export function diff(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const same = (line) => ["", line, line];
  return [
    ...a.slice(0, head).map(same),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same),
  ];
}

function middle(a, b) {
  if (a.length * b.length > most) return pair(a, b); // far from alike, or far too long
  // lengths[i][j]: how long the longest common part of a from i and b from j is.
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const rows = [];
  let gone = [], come = [];
  const flush = () => { rows.push(...pair(gone, come)); gone = []; come = []; };
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      flush();
      rows.push(["", a[i++], b[j++]]);
    } else if (j === b.length || (i < a.length && lengths[i + 1][j] >= lengths[i][j + 1])) gone.push(a[i++]);
    else come.push(b[j++]);
  }
  flush();
  return rows;
}

// pair puts what goes beside what comes in its place.
function pair(gone, come) {
  return Array.from({ length: Math.max(gone.length, come.length) }, (_, i) =>
    [i >= come.length ? "-" : i >= gone.length ? "+" : "~", gone[i] ?? null, come[i] ?? null]);
}
