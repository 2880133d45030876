import type { Millis } from "../../agent/base/clock.ts";
import type { Daemon } from "../cluster/daemons.ts";
import type { KubeletSettings } from "../cluster/kubelet.ts";
import type { Workload } from "../cluster/workloads.ts";

/** A story to play on a simulated site: its parts, what happens to them, and the expected results. */
export interface Scenario {
  readonly name: string;
  readonly boards: number;
  readonly zones: number;
  readonly workloads: readonly Workload[];
  readonly daemons: readonly Daemon[];
  /** Sections of the agents' configuration, which override those of `siteward up`. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly kubelet: KubeletSettings;
  /** The steps by time; steps at the same time keep the order in which they were written. */
  readonly steps: readonly Step[];
}

export type Step = {
  /** Time since the site was first healthy. */
  readonly at: Millis;
} & (
  | { readonly deed: Deed; readonly expected?: undefined }
  | { readonly expected: Expectation; readonly deed?: undefined }
);

export const verbs = [
  "power-off",
  "power-on",
  "cut",
  "restore",
  "slow",
  "flap",
  "restart",
  "suspend",
  "resume",
  "roll",
] as const;
export type ScenarioVerb = (typeof verbs)[number];

/** An action on boards, on the API server, or on daemons (roll). */
export interface Deed {
  readonly verb: ScenarioVerb;
  /** Names of boards and zones, "all", "leader", "hit" (the boards of the previous action), "api"; or of daemons. */
  readonly targets: readonly string[];
  /** slow: time added to each round trip. */
  readonly delay: Millis;
  /** flap: how long the link is alternately down and up. */
  readonly down: Millis;
  readonly up: Millis;
  /** restart: how long the restart takes. */
  readonly for: Millis;
  /** cut: whether packets vanish, or connections are reset. */
  readonly how: "silent" | "refused";
}

export const claims = [
  "leader",
  "term",
  "ready",
  "not-ready",
  "tainted",
  "not-tainted",
  "evicted",
  "kept",
  "served",
  "not-served",
  "rolled",
] as const;
export type Claim = (typeof claims)[number];

/**
 * A condition that must become true within a time, or remain true for a time; with neither, it must be true
 * immediately.
 */
export interface Expectation {
  readonly claim: Claim;
  /**
   * leader: a board, "any", "none", "same", "changed". term: a number, "same", "next". Otherwise the same as the
   * targets of an action.
   */
  readonly of: readonly string[];
  readonly within: Millis;
  readonly for: Millis;
}

export function boardNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `pi-${index + 1}`);
}

/** The zone of a board. Zones are assigned in rotation, so that their sizes differ by at most one board. */
export const zoneOf = (board: number, zones: number): string => `zone-${letters[(board - 1) % zones]}`;
export const zoneNames = (count: number): readonly string[] => [...letters.slice(0, count)].map((one) => `zone-${one}`);

const letters = "abcdefghijklmnopqrstuvwxyz";
export const mostZones = letters.length;
/** The number of boards is limited because a board's number is the last number of its address. */
export const mostBoards = 250;
