import type { Config } from "./settings.ts";

/** The settings of controllers that can run in shadow mode, with the name under which the status shows each. */
const names = { nodeLifecycle: "node-lifecycle", taintEviction: "taint-eviction", podGC: "pod-gc" } as const;

type Name = keyof typeof names;

/** Whether a controller decides and records, but writes nothing (docs/judgement.md#shadow-mode). */
export const isShadowed = ({ controllers }: Pick<Config, "controllers">, name: Name): boolean =>
  controllers[name].mode === "shadow";

/** The names of the controllers in shadow mode. */
export const shadowedControllers = (config: Pick<Config, "controllers">): readonly string[] =>
  (Object.keys(names) as readonly Name[]).filter((name) => isShadowed(config, name)).map((name) => names[name]);

/** Whether all controllers that can run in shadow mode do: then the judgement of boards is left to another program. */
export const isWholeShadow = (config: Pick<Config, "controllers">): boolean =>
  shadowedControllers(config).length === Object.keys(names).length;
