import { nodes } from "../api/resources.ts";
import type { Agent } from "../assemble.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Config } from "../config/settings.ts";
import { SecondJudge } from "../judgement/second-judge.ts";
import { judgeProblem } from "../status/judge-problems.ts";
import type { Companion } from "./companions.ts";

/** Detects other judges of this site's boards while this board leads and judges. */
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
    told: (now) => ({ problems: watch.found(now).map((found) => judgeProblem(found, now)) }),
  };
}
