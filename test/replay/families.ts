import { nearest } from "../../agent/base/text/nearest.ts";
import type { ReplayFamily } from "./family.ts";
import type { JsonSchema } from "./form.ts";
import { MalformedCase } from "./malformed.ts";
import { repeatSchema } from "./repeat.ts";

/** One line each; a family is loaded when a case names it. */
const families: Readonly<Record<string, () => Promise<ReplayFamily>>> = {
  ZS: async () => (await import("./families/zs.ts")).zs,
  HD: async () => (await import("./families/hd.ts")).hd,
  NH: async () => (await import("./families/nh.ts")).nh,
  TN: async () => (await import("./families/tn.ts")).tn,
  TS: async () => (await import("./families/ts.ts")).ts,
  LB: async () => (await import("./families/lb.ts")).lb,
  GC: async () => (await import("./families/gc.ts")).gc,
  TQ: async () => (await import("./families/tq.ts")).tq,
  DF: async () => (await import("./families/df.ts")).df,
  WQ: async () => (await import("./families/wq.ts")).wq,
  TE: async () => (await import("./families/te.ts")).te,
  LE: async () => (await import("./families/le.ts")).le,
  RL: async () => (await import("./families/rl.ts")).rl,
  ER: async () => (await import("./families/er.ts")).er,
  EP: async () => (await import("./families/ep.ts")).ep,
  TT: async () => (await import("./families/tt.ts")).tt,
  ES: async () => (await import("./families/es.ts")).es,
  DN: async () => (await import("./families/dn.ts")).dn,
  DP: async () => (await import("./families/dp.ts")).dp,
  DU: async () => (await import("./families/du.ts")).du,
  decision: async () => (await import("./families/decision.ts")).decision,
};

export const familyNames: readonly string[] = Object.keys(families);

export async function loadFamily(name: string): Promise<ReplayFamily> {
  const load = Object.hasOwn(families, name) ? families[name] : undefined;
  if (load) return await load();
  const similar = nearest(name, familyNames);
  const hint = similar === undefined ? `there are ${familyNames.join(", ")}` : `did you mean ${similar}?`;
  throw new MalformedCase([`there is no family ${JSON.stringify(name)}; ${hint}`]);
}

/** A single schema that accepts the cases of any of these families. */
export async function schemaOfAll(names: readonly string[]): Promise<JsonSchema> {
  const loaded = await Promise.all(names.map(loadFamily));
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "siteward behaviour cases",
    description:
      "A case says what is there, what happens and when; siteward replay runs it through the rules of the agent. Times " +
      "are milliseconds on the case's own monotonic clock, which starts at 0. Each family has its own schema in $defs.",
    anyOf: loaded.map(({ name }) => ({ $ref: `#/$defs/${name}` })),
    $defs: { ...Object.fromEntries(loaded.map(({ name, schema }) => [name, schema])), repeat: repeatSchema },
  };
}
