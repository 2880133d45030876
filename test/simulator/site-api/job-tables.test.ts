import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../agent/api/json.ts";
import { merge, row, TestSite } from "./site.ts";

const jobs = "/apis/batch/v1/namespaces/default/jobs";
const cronJobs = "/apis/batch/v1/namespaces/default/cronjobs";
const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const template = { spec: { containers: [{ name: "c", image: "i" }], restartPolicy: "Never" } };

describe("jobs", () => {
  const is = (type: string, status = "True"): JsonObject => ({ type, status });
  const begun = { startTime: "2026-01-01T00:00:00Z" };
  const words: readonly [status: JsonObject, word: string, duration: string][] = [
    [{}, "Running", ""],
    [begun, "Running", "3m"],
    [{ ...begun, completionTime: "2026-01-01T00:02:05Z", conditions: [is("Complete")] }, "Complete", "2m5s"],
    [{ ...begun, conditions: [is("FailureTarget"), is("Failed")] }, "Failed", "3m"],
    [{ ...begun, conditions: [is("Failed", "False"), is("FailureTarget")] }, "FailureTarget", "3m"],
    [{ conditions: [is("Suspended")] }, "Suspended", ""],
    [{ conditions: [is("SuccessCriteriaMet")] }, "SuccessCriteriaMet", ""],
  ];

  test.each(words)("of the status %j are %s", async (status, word, duration) => {
    await using site = new TestSite();
    await site.create(jobs, { metadata: { name: "j" }, spec: { template } });
    await site.ask("PATCH", `${jobs}/j/status`, { status }, { type: merge });
    await site.clock.advance("3m");
    expect(await row(site, jobs)).toEqual({
      Name: "j",
      Status: word,
      Completions: "0/1",
      Duration: duration,
      Age: "3m",
      Containers: "c",
      Images: "i",
      Selector: "<none>",
    });
  });

  test("that are to go are terminating, unless they have ended", async () => {
    await using site = new TestSite();
    await site.create(jobs, { metadata: { name: "j", finalizers: ["x/y"] }, spec: { template } });
    await site.ask("DELETE", `${jobs}/j`);
    expect((await row(site, jobs)).Status).toBe("Terminating");
    await site.ask("PATCH", `${jobs}/j/status`, { status: { conditions: [is("Complete")] } }, { type: merge });
    expect((await row(site, jobs)).Status).toBe("Complete");
  });

  test.each([
    [{ completions: 5, parallelism: 2 }, "2/5"],
    [{ parallelism: 3 }, "2/1 of 3"],
    [{ parallelism: 1 }, "2/1"],
  ])("with %j count their pods", async (spec, completions) => {
    await using site = new TestSite();
    await site.create(jobs, { metadata: { name: "j" }, spec: { ...spec, template } });
    await site.ask("PATCH", `${jobs}/j/status`, { status: { succeeded: 2 } }, { type: merge });
    expect((await row(site, jobs)).Completions).toBe(completions);
  });
});

test("a cron job shows its schedule, its jobs that run, and when the last one began", async () => {
  await using site = new TestSite();
  const jobTemplate = { spec: { template } };
  await site.create(cronJobs, { metadata: { name: "c" }, spec: { schedule: "@daily", jobTemplate } });
  const never = {
    Name: "c",
    Schedule: "@daily",
    Timezone: "<none>",
    Suspend: "False",
    Active: 0,
    "Last Schedule": "<none>",
    Age: "0s",
    Containers: "c",
    Images: "i",
    Selector: "<none>",
  };
  expect(await row(site, cronJobs)).toEqual(never);
  const spec = { suspend: true, timeZone: "Europe/Vienna" };
  await site.ask("PATCH", `${cronJobs}/c`, { spec }, { type: merge });
  const status = { active: [{ name: "j" }], lastScheduleTime: "2026-01-01T00:00:00Z" };
  await site.ask("PATCH", `${cronJobs}/c/status`, { status }, { type: merge });
  await site.clock.advance("5m");
  expect(await row(site, cronJobs)).toEqual({
    ...never,
    Timezone: "Europe/Vienna",
    Suspend: "True",
    Active: 1,
    "Last Schedule": "5m",
    Age: "5m",
  });
});

test("an ingress shows whom it serves, and where", async () => {
  await using site = new TestSite();
  await site.create(ingresses, { metadata: { name: "i" }, spec: { defaultBackend: { service: { name: "web" } } } });
  expect(await row(site, ingresses)).toEqual({
    Name: "i",
    Class: "<none>",
    Hosts: "*",
    Address: "",
    Ports: "80",
    Age: "0s",
  });
  const rules = ["a.org", "b.org", "c.org", "d.org"].map((host) => ({ host }));
  const spec = { ingressClassName: "edge", rules, tls: [{ hosts: ["a.org"] }] };
  await site.ask("PATCH", `${ingresses}/i`, { spec }, { type: merge });
  const ingress = [{ ip: "10.0.0.2" }, { hostname: "edge.local" }, { ip: "10.0.0.1" }];
  await site.ask("PATCH", `${ingresses}/i/status`, { status: { loadBalancer: { ingress } } }, { type: merge });
  expect(await row(site, ingresses)).toMatchObject({
    Class: "edge",
    Hosts: "a.org,b.org,c.org + 1 more...",
    Address: "10.0.0.1,10.0.0.2,edge.local",
    Ports: "80, 443",
  });
});
