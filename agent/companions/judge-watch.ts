import { nodes } from "../api/resources.ts";
import type { Agent } from "../assembly/agent.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Config } from "../config/settings.ts";
import { SecondJudge } from "../judgement/second-judge.ts";
import { judgeProblem } from "../status/judge-problems.ts";
import type { Companion } from "./companion.ts";

/**
 * Detects other programs that judge this site's boards. Active while this board leads and its node lifecycle controller
 * runs.
 */
export function judgeWatch(
  ambient: Ambient,
  { agent, config }: { readonly agent: Agent; readonly config: Config },
): Companion {
  const watch = new SecondJudge(ambient, {
    client: agent.client,
    boards: agent.caches.informer(nodes).lister,
    isJudge: () => config.controllers.nodeLifecycle.mode === "act" && agent.elector.view().role === "leader",
  });
  return {
    name: "second judge",
    run: (signal) => watch.run(signal),
    contribution: (now) => ({ problems: watch.found(now).map((found) => judgeProblem(found, now)) }),
  };
}
