export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A line through points by least squares: how much y grows with each x, and how uncertain that is. */
export interface Slope {
  readonly perStep: number;
  /**
   * Two standard errors, from the distances of the points from the line; never less than one unit over the whole
   * length.
   */
  readonly uncertainty: number;
}

export function slopeOf(points: readonly Point[], unit = 0): Slope {
  const count = points.length;
  if (count < 3) throw new Error(`a line and its uncertainty need three points, not ${count}`);
  const mean = (of: (point: Point) => number): number => points.reduce((sum, point) => sum + of(point), 0) / count;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  const spread = points.reduce((sum, point) => sum + (point.x - x) ** 2, 0);
  if (spread === 0) throw new Error("a line needs points that lie apart");
  const perStep = points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0) / spread;
  const off = points.reduce((sum, point) => sum + (point.y - y - perStep * (point.x - x)) ** 2, 0);
  const length = Math.max(...points.map((point) => point.x)) - Math.min(...points.map((point) => point.x));
  return { perStep, uncertainty: Math.max(2 * Math.sqrt(off / (count - 2) / spread), unit / length) };
}

export type Verdict = "flat" | "grows" | "uncertain";

/**
 * flat: the slope is below `least` even at its upper bound. grows: it is at least `least` even at its lower bound.
 * uncertain: too few points, or too much noise, to tell.
 */
export function verdictOn({ perStep, uncertainty }: Slope, least: number): Verdict {
  if (perStep + uncertainty < least) return "flat";
  return perStep - uncertainty >= least ? "grows" : "uncertain";
}
