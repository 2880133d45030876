import type { Config } from "./settings.ts";

/** The settings of the controllers that judge boards and harm pods, with the name under which the status shows each. */
export const judgingControllers = {
  nodeLifecycle: "node-lifecycle",
  taintEviction: "taint-eviction",
  podGC: "pod-gc",
} as const;

export type JudgingController = keyof typeof judgingControllers;

/** Whether a controller decides and records, but writes nothing (docs/judgement.md#shadow-mode). */
export const isShadowed = ({ controllers }: Pick<Config, "controllers">, name: JudgingController): boolean =>
  controllers[name].mode === "shadow";

/** The names of the controllers in shadow mode. */
export const shadowedControllers = (config: Pick<Config, "controllers">): readonly string[] =>
  shadowedNames(config).map((name) => judgingControllers[name]);

/** The sections of the settings of the controllers in shadow mode. */
export const shadowedSettings = (config: Pick<Config, "controllers">): readonly string[] =>
  shadowedNames(config).map((name) => `controllers.${name}`);

const shadowedNames = (config: Pick<Config, "controllers">): readonly JudgingController[] =>
  (Object.keys(judgingControllers) as readonly JudgingController[]).filter((name) => isShadowed(config, name));

/**
 * Whether the leader also decides by policy `kubernetes`, beside its own policy and without writing anything
 * (docs/judgement.md#comparison-with-policy-kubernetes).
 */
export const isCompared = ({ judgement, controllers }: Pick<Config, "judgement" | "controllers">): boolean =>
  judgement.compare === "kubernetes" && controllers.nodeLifecycle.mode === "act";

/** Whether all controllers that can run in shadow mode do: then the judgement of boards is left to another program. */
export const isWholeShadow = (config: Pick<Config, "controllers">): boolean =>
  shadowedControllers(config).length === Object.keys(judgingControllers).length;
