// Where documents stand in the graph: linked ones attract each other, all repel each other, and
// communities keep together. The same graph always comes out the same: nothing is left to chance.

const CELL = 280; // beyond the neighbouring cells, a cell repels as one
const SPRING = 130; // the length that a link would like to have
const REPULSION = 24000;

/** Gives every node `x` and `y`: a spiral, community by community. */
export function place(nodes) {
  const order = [...nodes].sort((a, b) => (a.community ?? 1e9) - (b.community ?? 1e9) || b.degree - a.degree);
  order.forEach((node, at) => {
    const [far, angle] = [40 * Math.sqrt(at + 1), at * 2.399963];
    Object.assign(node, { x: far * Math.cos(angle), y: far * Math.sin(angle), vx: 0, vy: 0 });
  });
}

/** Moves every node a little; `heat` falls from 1 to 0 while the picture settles. */
export function tick(nodes, links, heat) {
  repel(nodes, heat);
  attract(links, heat);
  gather(nodes, heat);
  for (const node of nodes) {
    if (node.held) continue;
    node.x += node.vx *= 0.62;
    node.y += node.vy *= 0.62;
  }
}

function repel(nodes, heat) {
  const cells = new Map();
  for (const node of nodes) {
    const [column, row] = [Math.floor(node.x / CELL), Math.floor(node.y / CELL)];
    const key = `${column},${row}`;
    let cell = cells.get(key);
    if (!cell) cells.set(key, (cell = { column, row, x: 0, y: 0, nodes: [] }));
    cell.nodes.push(node);
    cell.x += node.x;
    cell.y += node.y;
  }
  const all = [...cells.values()];
  for (const cell of all) {
    cell.x /= cell.nodes.length;
    cell.y /= cell.nodes.length;
  }
  for (const cell of all) {
    for (const other of all) {
      const near = Math.abs(cell.column - other.column) < 2 && Math.abs(cell.row - other.row) < 2;
      for (const node of cell.nodes) {
        if (!near) push(node, other, other.nodes.length, heat);
        else for (const one of other.nodes) if (one !== node) push(node, one, 1, heat);
      }
    }
  }
}

function push(node, other, weight, heat) {
  const [dx, dy] = [node.x - other.x || 0.01, node.y - other.y || 0.01];
  const force = (REPULSION * weight * heat) / Math.max(dx * dx + dy * dy, 400) / Math.sqrt(Math.max(dx * dx + dy * dy, 1));
  node.vx += dx * force;
  node.vy += dy * force;
}

function attract(links, heat) {
  for (const { source, target } of links) {
    const [dx, dy] = [target.x - source.x, target.y - source.y];
    const far = Math.hypot(dx, dy) || 1;
    const pull = ((far - SPRING) / far) * 0.35 * heat;
    const share = source.degree / (source.degree + target.degree);
    // What has many links stays where it is, the others come to it.
    target.vx -= dx * pull * share;
    target.vy -= dy * pull * share;
    source.vx += dx * pull * (1 - share);
    source.vy += dy * pull * (1 - share);
  }
}

function gather(nodes, heat) {
  const centres = new Map();
  for (const node of nodes) {
    if (node.community === null) continue;
    const centre = centres.get(node.community) ?? { x: 0, y: 0, count: 0 };
    centres.set(node.community, { x: centre.x + node.x, y: centre.y + node.y, count: centre.count + 1 });
  }
  for (const node of nodes) {
    const centre = centres.get(node.community);
    if (centre) {
      node.vx += (centre.x / centre.count - node.x) * 0.045 * heat;
      node.vy += (centre.y / centre.count - node.y) * 0.045 * heat;
    }
    const home = node.degree ? 0.012 : 0.03; // what has no links would drift away
    node.vx -= node.x * home * heat;
    node.vy -= node.y * home * heat;
  }
}
