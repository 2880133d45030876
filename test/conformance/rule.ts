import type { Ground } from "./ground.ts";

/** Something that we rely on from an API server. */
export interface Rule {
  /** Names the rule in a command and in a test of the suite itself. */
  readonly id: string;
  /** What we rely on, and why. */
  readonly title: string;
  readonly check: (site: Ground) => Promise<void>;
  /** Nothing else is asked of the server meanwhile: what it watches for would be drowned. */
  readonly alone: boolean;
}

export const rule = (id: string, title: string, check: Rule["check"]): Rule => ({ id, title, check, alone: false });

export const ruleAlone = (id: string, title: string, check: Rule["check"]): Rule => ({ id, title, check, alone: true });
