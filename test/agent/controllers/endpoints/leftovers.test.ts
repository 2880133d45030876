import { expect, test } from "vitest";
import { endpoints } from "../../../../agent/api/resources.ts";
import { endpointsOfServices } from "../../../../agent/controllers/endpoints/controller.ts";
import { noJudge } from "../../../replay/families/services/no-judge.ts";
import { CaseTime } from "../../../replay/site/case-time.ts";
import { Site } from "../../../replay/site/site.ts";

const handmade = (name: string) => ({
  metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "1" },
  subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 80 }] }],
});

test("Endpoints without a service are deleted when a term begins, and not after each outage of the link", async () => {
  const site = new Site(new CaseTime());
  const names = (): readonly string[] => site.api.all(endpoints).map(({ metadata }) => metadata.name);
  site.api.put(endpoints, handmade("left-behind"));
  const loop = site.loopOf(endpointsOfServices({ verdictDeps: noJudge, batch: 0 }));
  site.start(loop);
  await site.settle();
  expect(names()).toEqual([]);
  // A user creates these before their service.
  site.api.put(endpoints, handmade("early"));
  await site.settle();
  loop.wakeAll();
  await site.approach(10_000);
  await site.settle();
  expect(names()).toEqual(["early"]);
});
