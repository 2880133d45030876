import type { Ground } from "./ground.ts";

/** A property of an API server on which siteward relies. */
export interface Rule {
  /** The rule's name in commands and tests. */
  readonly id: string;
  /** The property and the reason for it. */
  readonly title: string;
  readonly check: (site: Ground) => Promise<void>;
  /** Runs without concurrent rules, which would disturb it. */
  readonly alone: boolean;
}

export const rule = (id: string, title: string, check: Rule["check"]): Rule => ({ id, title, check, alone: false });

export const ruleAlone = (id: string, title: string, check: Rule["check"]): Rule => ({ id, title, check, alone: true });
