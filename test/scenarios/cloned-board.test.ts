import { expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { LinkedSite } from "../support/links/linked-site.ts";
import { rest } from "../support/rest.ts";

const duration = 12;
const config = { leader: { duration: `${duration}s`, renewDeadline: "8s", retry: "1s" } };

test("after a restart a board resumes its own term immediately; a board with a clone of its card waits like any other, and says so", async () => {
  const site = await new LinkedSite({ config }).start();
  const { agent } = site;
  const collisions = (one: typeof agent): readonly string[] =>
    (one.status()?.health.conditions ?? [])
      .filter(({ type }) => type === "IdentityCollision")
      .map((one) => one.message);
  const termOf = (one: typeof agent): number | undefined => one.status()?.leader?.term;
  try {
    await until("the board leads", () => agent.isReady, 30);
    const first = termOf(agent) ?? Number.NaN;
    const clone = site.clone();
    await until("the clone follows", () => clone.status()?.leader?.role === "standby", 20);
    await rest(duration + 3);
    expect([agent.leads, clone.leads]).toEqual([true, false]);
    await until(
      "the clone reports that another board has its name",
      () => collisions(clone).length === 1,
      2 * duration,
    );
    expect(collisions(clone)[0]).toContain("another process with this board's name leads the site");
    expect(termOf(agent)).toBe(first);

    await agent.stop("SIGKILL");
    agent.start();
    const back = await until("the board leads again", () => agent.leads, 10);
    expect(back).toBeLessThan(duration / 2);
    expect(termOf(agent)).toBe(first + 1);
    expect(collisions(agent)).toEqual([]);
    await agent.stop("SIGKILL");
    await until("the clone leads once that term is over", () => clone.leads, 2 * duration + 1 + 5);
    expect(termOf(clone)).toBe(first + 2);
  } finally {
    await site.stop();
  }
});
