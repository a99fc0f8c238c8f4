// The strategies of the server, in their order: each has a colour of the palette in base.css.

const COLOURS = 6;

let order = [];

/** Takes over the names of the strategies. */
export function set(names) {
  order = names;
}

/** The class that fills a shape with the colour of a strategy; what is no strategy has its own. */
export const fill = (name) => (order.includes(name) ? `fill-${order.indexOf(name) % COLOURS}` : "fill-other");

/** What strategies gave, in the order of the strategies. */
export const inOrder = (places) => order.flatMap((name) => places.filter((place) => place.strategy === name));
