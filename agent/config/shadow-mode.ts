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

/** The settings by which controllers are in shadow mode. */
export const shadowedSettings = (config: Pick<Config, "controllers">): readonly string[] =>
  shadowedNames(config).map(modeSetting);

/** The setting of a controller's mode, as in the configuration. */
export const modeSetting = (name: JudgingController): string => `controllers.${name}.mode`;

const shadowedNames = (config: Pick<Config, "controllers">): readonly JudgingController[] =>
  (Object.keys(judgingControllers) as readonly JudgingController[]).filter((name) => isShadowed(config, name));

/**
 * Why controllers only pretend to write: they run in shadow mode, or decide by policy `kubernetes` beside those that act
 * (docs/judgement.md#comparison-with-policy-kubernetes). The configuration never asks for both; undefined if for neither.
 */
export function pretenceOf(config: Pick<Config, "judgement" | "controllers">): "shadow" | "kubernetes" | undefined {
  const { judgement, controllers } = config;
  if (judgement.compare === "kubernetes" && controllers.nodeLifecycle.mode === "act") return "kubernetes";
  return shadowedNames(config).length > 0 ? "shadow" : undefined;
}

/** Whether all controllers that can run in shadow mode do: then the judgement of boards is left to another program. */
export const isWholeShadow = (config: Pick<Config, "controllers">): boolean =>
  shadowedControllers(config).length === Object.keys(judgingControllers).length;
