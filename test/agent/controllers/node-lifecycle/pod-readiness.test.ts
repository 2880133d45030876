import { describe, expect, test } from "vitest";
import { SiteModel } from "../site-model.ts";

const stays = [{ operator: "Exists" }];

describe("a pod that arrives on a board", () => {
  test.each([
    ["is ready", "True", "True"],
    ["is silent", "Unknown", "False"],
    ["reports itself not ready", "False", "False"],
    ["never reported", "-", "True"],
  ])("that %s: is the pod ready?", async (_name, status, ready) => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: status } });
    site.pod("web", { tolerations: stays });
    await site.run("1s");
    site.pod("web", { on: "pi", tolerations: stays });
    await site.run("1s");
    expect(site.podReady("web")).toBe(ready);
  });

  test.each(["False", "Unknown"])(
    "and was there before this term is not marked because Ready=%s: the writer of that condition marked it",
    async (status) => {
      const site = new SiteModel();
      site.board("other");
      site.board("pi", { conditions: { Ready: status } });
      site.pod("web", { on: "pi", tolerations: stays });
      await site.run("1s");
      await site.lead();
      await site.run("1h");
      expect(site.podReady("web")).toBe("True");
    },
  );

  test.each([
    ["True", "True"],
    ["False", "False"],
    ["Unknown", "False"],
  ])(
    "or appears on it, ready, after a gap in our watch is treated the same: board Ready=%s, pod Ready=%s",
    async (status, ready) => {
      const site = new SiteModel();
      site.board("other");
      site.board("pi", { conditions: { Ready: status } });
      await site.run("1s");
      site.pod("web", { on: "pi", tolerations: stays });
      await site.run("1s");
      expect(site.podReady("web")).toBe(ready);
    },
  );

  test("is marked when it is bound, not before", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: "Unknown" } });
    site.pod("web", { tolerations: stays });
    await site.run("1s");
    expect(site.podReady("web")).toBe("True");
    site.pod("web", { on: "pi", tolerations: stays });
    await site.run("1s");
    expect(site.podReady("web")).toBe("False");
  });

  test("is not marked while our own watches are not live", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: "Unknown" } });
    site.pod("web", { tolerations: stays });
    await site.run("1m");
    site.cut();
    await site.run("1m");
    site.pod("web", { on: "pi", tolerations: stays });
    site.restore();
    await site.run("35s");
    expect(site.podReady("web")).toBe("True");
    await site.run("15s");
    expect(site.podReady("web")).toBe("False");
  });

  test("is marked in a later pass if the write failed", async () => {
    const site = new SiteModel();
    site.board("other");
    site.board("pi", { conditions: { Ready: "Unknown" } });
    site.pod("web", { tolerations: stays });
    await site.run("1s");
    let failures = 0;
    site.refuse = ({ do: what }) => (what === "patch" && failures++ < 2 ? "refresh" : undefined);
    site.pod("web", { on: "pi", tolerations: stays });
    await site.run("5s");
    expect(site.podReady("web")).toBe("False");
  });
});
