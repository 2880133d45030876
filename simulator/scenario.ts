import type { Millis } from "../agent/base/clock.ts";
import type { Daemon } from "./daemons.ts";
import type { KubeletSettings } from "./kubelet.ts";
import type { Workload } from "./workloads.ts";

/** A story to be played on a simulated site: what there is, what is done to it and what must come of it. */
export interface Scenario {
  readonly name: string;
  readonly boards: number;
  readonly zones: number;
  readonly workloads: readonly Workload[];
  readonly daemons: readonly Daemon[];
  /** Sections of the agents' configuration, over what `siteward up` sets itself. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly kubelet: KubeletSettings;
  /** By time; steps of one instant in the order in which they were written. */
  readonly steps: readonly Step[];
}

export type Step = {
  /** Since the site was healthy for the first time. */
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
export type Verb = (typeof verbs)[number];

/** Something is done to boards, to the API server, or to daemons (roll). */
export interface Deed {
  readonly verb: Verb;
  /** Names of boards and zones, "all", "leader", "hit" (the boards of the deed before), "api"; of daemons. */
  readonly targets: readonly string[];
  /** slow: added to each round trip. */
  readonly delay: Millis;
  /** flap: how long the link is down, and up, by turns. */
  readonly down: Millis;
  readonly up: Millis;
  /** restart: how long it takes. */
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

/** Something must become true within a time, or stay true for a time; with neither, it must be true at once. */
export interface Expectation {
  readonly claim: Claim;
  /** leader: a board, "any", "none", "same", "changed". term: a number, "same", "next". Else as the targets of a deed. */
  readonly of: readonly string[];
  readonly within: Millis;
  readonly for: Millis;
}

export function boardNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `pi-${index + 1}`);
}

/** The zone of a board: one after the other, so that zones differ by one board at most. */
export const zoneOf = (board: number, zones: number): string => `zone-${letters[(board - 1) % zones]}`;
export const zoneNames = (count: number): readonly string[] => [...letters.slice(0, count)].map((one) => `zone-${one}`);

const letters = "abcdefghijklmnopqrstuvwxyz";
export const mostZones = letters.length;
/** The last number of an address. */
export const mostBoards = 250;
