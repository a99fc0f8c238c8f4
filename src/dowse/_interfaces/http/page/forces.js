// Where documents stand in the graph: linked ones attract each other, all repel each other, and
// communities keep together. The same graph always comes out the same: nothing is left to chance.

const CELL = 280; // at least: beyond the neighbouring cells, a cell repels as one
const SPRING = 130; // the length that a link would like to have
const REPULSION = 24000;

/** Places that move step by step; flat arrays, since thousands of nodes are moved in each. */
export class Layout {
  /** Begins with a spiral, community by community. */
  constructor(nodes, links) {
    this.nodes = [...nodes].sort((a, b) => (a.community ?? 1e9) - (b.community ?? 1e9) || b.degree - a.degree);
    const place = new Map(this.nodes.map((node, at) => [node, at]));
    for (const name of ["x", "y", "vx", "vy"]) this[name] = new Float64Array(nodes.length);
    this.sources = Int32Array.from(links, (link) => place.get(link.source));
    this.targets = Int32Array.from(links, (link) => place.get(link.target));
    this.nodes.forEach((_, at) => {
      const [far, angle] = [40 * Math.sqrt(at + 1), at * 2.399963];
      [this.x[at], this.y[at]] = [far * Math.cos(angle), far * Math.sin(angle)];
    });
    this.give();
  }

  /** Moves every node a little; `heat` falls from 1 to 0 while the picture settles. */
  tick(heat) {
    const { x, y, vx, vy } = this;
    repel(this, heat);
    attract(this, heat);
    gather(this, heat);
    for (let at = 0; at < x.length; at += 1) {
      x[at] += vx[at] *= 0.62;
      y[at] += vy[at] *= 0.62;
    }
  }

  /** Writes the places to the nodes. */
  give() {
    this.nodes.forEach((node, at) => Object.assign(node, { x: this.x[at], y: this.y[at] }));
  }
}

/** The nodes by the square of the plane that they stand in; as many squares as make the least work. */
function cells({ x, y }) {
  let far = 1;
  for (let at = 0; at < x.length; at += 1) far = Math.max(far, Math.abs(x[at]), Math.abs(y[at]));
  const size = Math.max(CELL, (2 * far) / Math.ceil(1.3 * Math.cbrt(x.length)));
  const found = new Map();
  for (let at = 0; at < x.length; at += 1) {
    const [column, row] = [Math.floor(x[at] / size), Math.floor(y[at] / size)];
    const key = column * 100_003 + row;
    let cell = found.get(key);
    if (!cell) found.set(key, (cell = { column, row, x: 0, y: 0, vx: 0, vy: 0, members: [] }));
    cell.members.push(at);
    cell.x += x[at];
    cell.y += y[at];
  }
  const all = [...found.values()];
  for (const cell of all) {
    cell.x /= cell.members.length;
    cell.y /= cell.members.length;
  }
  return all;
}

function repel(layout, heat) {
  const all = cells(layout);
  for (let first = 0; first < all.length; first += 1) {
    const cell = all[first];
    push(layout, cell.members, cell.members, heat);
    for (let second = first + 1; second < all.length; second += 1) {
      const other = all[second];
      if (Math.abs(cell.column - other.column) < 2 && Math.abs(cell.row - other.row) < 2) push(layout, cell.members, other.members, heat);
      else pushAll(cell, other, heat);
    }
  }
  for (const { members, vx, vy } of all) {
    for (const at of members) {
      layout.vx[at] += vx;
      layout.vy[at] += vy;
    }
  }
}

/** What two cells far from each other do to all that stand in them. */
function pushAll(cell, other, heat) {
  const dx = cell.x - other.x;
  const dy = cell.y - other.y;
  const by = strength(dx, dy) * heat;
  const [here, there] = [by * other.members.length, by * cell.members.length];
  cell.vx += dx * here;
  cell.vy += dy * here;
  other.vx -= dx * there;
  other.vy -= dy * there;
}

/** What the nodes of two neighbouring cells, or of one, do to each other. */
function push({ x, y, vx, vy }, members, others, heat) {
  for (let one = 0; one < members.length; one += 1) {
    const at = members[one];
    for (let two = members === others ? one + 1 : 0; two < others.length; two += 1) {
      const other = others[two];
      const dx = x[at] - x[other] || 0.01;
      const dy = y[at] - y[other] || 0.01;
      const by = strength(dx, dy) * heat;
      vx[at] += dx * by;
      vy[at] += dy * by;
      vx[other] -= dx * by;
      vy[other] -= dy * by;
    }
  }
}

function strength(dx, dy) {
  const square = dx * dx + dy * dy;
  return REPULSION / Math.max(square, 400) / Math.sqrt(Math.max(square, 1));
}

function attract({ nodes, x, y, vx, vy, sources, targets }, heat) {
  for (let at = 0; at < sources.length; at += 1) {
    const [source, target] = [sources[at], targets[at]];
    const [dx, dy] = [x[target] - x[source], y[target] - y[source]];
    const far = Math.hypot(dx, dy) || 1;
    const pull = ((far - SPRING) / far) * 0.35 * heat;
    const share = nodes[source].degree / (nodes[source].degree + nodes[target].degree);
    // What has many links stays where it is, the others come to it.
    vx[target] -= dx * pull * share;
    vy[target] -= dy * pull * share;
    vx[source] += dx * pull * (1 - share);
    vy[source] += dy * pull * (1 - share);
  }
}

function gather({ nodes, x, y, vx, vy }, heat) {
  const centres = new Map();
  nodes.forEach(({ community }, at) => {
    if (community === null) return;
    let centre = centres.get(community);
    if (!centre) centres.set(community, (centre = { x: 0, y: 0, count: 0 }));
    centre.x += x[at];
    centre.y += y[at];
    centre.count += 1;
  });
  nodes.forEach(({ community, degree }, at) => {
    const centre = centres.get(community);
    if (centre) {
      vx[at] += (centre.x / centre.count - x[at]) * 0.045 * heat;
      vy[at] += (centre.y / centre.count - y[at]) * 0.045 * heat;
    }
    const home = degree ? 0.012 : 0.03; // what has no links would drift away
    vx[at] -= x[at] * home * heat;
    vy[at] -= y[at] * home * heat;
  });
}
