// What a graph looks like: links, discs and names, as far as they can be seen.

const FAR = 12; // pixels outside the canvas from which nothing is drawn
const TINY = 2; // pixels of a radius below which nobody sees that a square is no disc
const NAMES = 400; // that are tried in one picture
const CROWDED = 600; // nodes from which names may lie over discs

/** Draws a picture on its canvas, which is so wide and so high. */
export function paint(picture, width, height) {
  const { canvas, view } = picture;
  const pen = canvas.getContext("2d");
  const ratio = canvas.width / (width || 1);
  const { x, y, zoom } = view;
  const style = getComputedStyle(canvas);
  const [across, down] = [(width / 2 + FAR) / zoom, (height / 2 + FAR) / zoom];
  const seen = { left: x - across, right: x + across, top: y - down, low: y + down };
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.setTransform(ratio * zoom, 0, 0, ratio * zoom, ratio * (width / 2 - x * zoom), ratio * (height / 2 - y * zoom));
  lines(picture, pen, style, seen);
  discs(picture, pen, style, seen);
  names(picture, pen, style, seen);
}

const overlap = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];

/** The path of everything that has the same colour and strength: thousands of single strokes would take too long. */
function gathered(paths, community, alpha) {
  const key = `${community} ${alpha}`;
  let one = paths.get(key);
  if (!one) paths.set(key, (one = { community, alpha, path: new Path2D() }));
  return one.path;
}

const passesBy = (a, b, seen) =>
  (a.x < seen.left && b.x < seen.left) || (a.x > seen.right && b.x > seen.right) || (a.y < seen.top && b.y < seen.top) || (a.y > seen.low && b.y > seen.low);

function lines(picture, pen, style, seen) {
  const { hovered, view } = picture;
  const strokes = new Map();
  for (const { source, target } of picture.links) {
    if (passesBy(source, target, seen)) continue;
    const within = source.community !== null && source.community === target.community;
    const on = picture.stands(source) && picture.stands(target);
    const beside = hovered && source !== hovered && target !== hovered;
    const path = gathered(strokes, within ? source.community : null, (on ? (within ? 0.5 : 0.22) : 0.05) * (beside ? 0.4 : 1));
    path.moveTo(source.x, source.y);
    path.lineTo(target.x, target.y);
  }
  pen.lineWidth = 1 / view.zoom;
  for (const { community, alpha, path } of strokes.values()) {
    pen.globalAlpha = alpha;
    pen.strokeStyle = community === null ? style.color : picture.colour(community);
    pen.stroke(path);
  }
}

function discs(picture, pen, style, seen) {
  const { zoom } = picture.view;
  const fills = new Map();
  const ringed = new Path2D();
  for (const node of picture.nodes) {
    if (passesBy(node, node, seen)) continue;
    const far = picture.radius(node);
    const path = gathered(fills, node.community, picture.stands(node) ? 1 : 0.15);
    if (far * zoom < TINY) path.rect(node.x - far, node.y - far, 2 * far, 2 * far);
    else circle(path, node, far);
    if (node === picture.hovered || node.id === picture.chosen) circle(ringed, node, far);
  }
  for (const { community, alpha, path } of fills.values()) {
    pen.globalAlpha = alpha;
    pen.fillStyle = picture.colour(community);
    pen.fill(path);
  }
  pen.globalAlpha = 1;
  pen.lineWidth = 2.5 / zoom;
  pen.strokeStyle = style.color;
  pen.stroke(ringed);
}

function circle(path, { x, y }, far) {
  path.moveTo(x + far, y);
  path.arc(x, y, far, 0, 7);
}

function boxOf(picture, node) {
  const far = picture.radius(node);
  return [node.x - far, node.y - far, node.x + far, node.y + far];
}

function names(picture, pen, style, seen) {
  const { zoom } = picture.view;
  const first = picture.nodes.filter((one) => one === picture.hovered || one.id === picture.chosen);
  const bodies = picture.nodes.length > CROWDED ? [] : picture.nodes;
  const taken = []; // by other names
  Object.assign(pen, { textAlign: "center", font: `${12 / zoom}px ${style.fontFamily}`, lineJoin: "round", lineWidth: 3 / zoom, strokeStyle: style.backgroundColor, fillStyle: style.color });
  let tried = 0;
  for (const node of [...first, ...picture.ranked]) {
    if (!picture.stands(node) || passesBy(node, node, seen)) continue;
    if ((tried += 1) > NAMES) break;
    const words = node.title.length > 34 ? `${node.title.slice(0, 32)}…` : node.title;
    node.wide ??= pen.measureText(words).width * zoom;
    const [half, y] = [(node.wide / 2 + 4) / zoom, node.y + picture.radius(node) + 13 / zoom];
    const box = [node.x - half, y - 12 / zoom, node.x + half, y + 5 / zoom];
    const free = () => !taken.some((one) => overlap(box, one)) && !bodies.some((one) => one !== node && overlap(box, boxOf(picture, one)));
    if (!first.includes(node) && !free()) continue;
    if (first.includes(node) && tried > first.length) continue; // it stands there already
    taken.push(box);
    pen.strokeText(words, node.x, y);
    pen.fillText(words, node.x, y);
  }
}
