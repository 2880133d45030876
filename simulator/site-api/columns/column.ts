import type { JsonValue } from "../../../agent/api/json.ts";
import type { Millis } from "../../../agent/base/clock.ts";
import type { ApiObject } from "../objects/object.ts";

/** One column of the table that `kubectl get` shows for a kind. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean";
  /** A short description; `kubectl explain` does not show it. */
  readonly description: string;
  /** True if only `-o wide` shows the column. */
  readonly wide: boolean;
  readonly isName: boolean;
  /**
   * The string or number for an object. `wall` is the server's clock time, which is used for ages that are only
   * displayed.
   */
  readonly cell: (object: ApiObject, wall: Millis) => JsonValue;
}

type Cell = Column["cell"];

export const column = (name: string, description: string, cell: Cell): Column => ({
  name,
  type: "string",
  description,
  wide: false,
  isName: false,
  cell,
});

export const countColumn = (name: string, description: string, cell: Cell): Column => ({
  ...column(name, description, cell),
  type: "integer",
});

export const wideColumn = (name: string, description: string, cell: Cell): Column => ({
  ...column(name, description, cell),
  wide: true,
});

export const nameColumn: Column = {
  ...column("Name", "The object's name.", ({ metadata }) => metadata.name),
  isName: true,
};

export const ageColumn: Column = column("Age", "Time since the object was created.", ({ metadata }, wall) =>
  age(metadata.creationTimestamp, wall),
);

/** The default for kinds that define no columns. */
export const plainColumns: readonly Column[] = [nameColumn, ageColumn];

/** Time since a timestamp as kubectl shows it. */
export function age(timestamp: JsonValue | undefined, wall: Millis): string {
  const then = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(then) ? "<unknown>" : shortDuration(wall - then);
}

/** A duration as kubectl shows it, in two units while the smaller one is significant. */
function shortDuration(duration: Millis): string {
  const seconds = Math.floor(duration / 1000);
  // Clocks of other machines may be slightly ahead.
  if (seconds < -1) return "<invalid>";
  if (seconds < 120) return `${Math.max(0, seconds)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return both(minutes, "m", seconds % 60, "s");
  const hours = Math.floor(minutes / 60);
  if (hours < 3) return `${minutes}m`;
  if (hours < 8) return both(hours, "h", minutes % 60, "m");
  const days = Math.floor(hours / 24);
  if (days < 2) return `${hours}h`;
  if (days < 8) return both(days, "d", hours % 24, "h");
  const years = Math.floor(days / 365);
  if (years < 2) return `${days}d`;
  if (years < 8) return both(years, "y", days % 365, "d");
  return `${years}y`;
}

const both = (large: number, unit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large}${unit}` : `${large}${unit}${small}${smallUnit}`;

export const orNone = (text: string): string => (text === "" ? "<none>" : text);

/** The first three strings, and the number of the others. */
export function fewOf(texts: readonly string[], whenNone: string): string {
  const few = texts.slice(0, 3).join(",");
  if (texts.length > 3) return `${few} + ${texts.length - 3} more...`;
  return few === "" ? whenNone : few;
}
