/** One measured number beside what it should be. `better`: whether a target is a ceiling or a floor. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly target?: number;
  readonly better?: "less" | "more";
  /** The same figure of kube-controller-manager, measured in the same run. */
  readonly peer?: number;
  readonly note?: string;
}

export interface BenchContext {
  readonly seed: number;
  readonly runs: number;
  /** Smaller loads, for a quick look. */
  readonly quick: boolean;
  say(line: string): void;
}

export interface Bench {
  readonly name: string;
  readonly summary: string;
  /** Whether it needs the servers that KUBEBUILDER_ASSETS names. */
  readonly kube: boolean;
  /** Why it cannot run on this machine, where it cannot. */
  missing?(): string | undefined;
  run(context: BenchContext): AsyncIterable<Figure>;
}

export const missed = ({ value, target, better = "less" }: Figure): boolean =>
  target !== undefined && (better === "less" ? value > target : value < target);

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

export function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.what,
    `${number(figure.value)} ${figure.unit}`,
    figure.target === undefined
      ? ""
      : `${figure.better === "more" ? "≥" : "≤"} ${number(figure.target)}${missed(figure) ? "  MISSED" : ""}`,
    figure.peer === undefined ? "" : `${number(figure.peer)} (×${(figure.value / figure.peer).toFixed(2)})`,
    figure.note ?? "",
  ]);
  const head = ["figure", "measured", "target", "kube-controller-manager", ""];
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? "").length)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

export function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return size >= 1000
    ? Math.round(value).toLocaleString("en-US")
    : size >= 100
      ? value.toFixed(0)
      : size >= 1
        ? value.toFixed(1)
        : value.toFixed(3);
}
