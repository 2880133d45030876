import { expect, test } from "vitest";
import { historyOf, presentHash, revisionData } from "../../../../agent/controllers/daemonset/history.ts";
import { canonicalJson, templateHash } from "../../../../agent/controllers/daemonset/template-hash.ts";
import { revisionOf, set } from "./support/daemon-site.ts";

test("the hash is made of letters that make no words, and says the same on every board", () => {
  const hash = templateHash({ spec: { containers: [{ name: "main", image: "agent:1" }] } }, undefined);
  expect(hash).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  expect(templateHash({ spec: { containers: [{ image: "agent:1", name: "main" }] } }, undefined)).toBe(hash);
  expect(templateHash({ spec: { containers: [{ image: "agent:1", name: "main", args: null }] } }, undefined)).toBe(
    hash,
  );
});

test("other content, another order of a list, and a collision that was counted are another hash", () => {
  const hashes = [
    templateHash({ a: [1, 2] }, undefined),
    templateHash({ a: [2, 1] }, undefined),
    templateHash({ a: [1, 2] }, 0),
    templateHash({ a: [1, 2] }, 1),
    templateHash({ a: [1, 2] }, 256),
    templateHash({}, undefined),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
});

test("FNV-1a as everybody knows it", () => {
  const fnv = (text: string): number => {
    let hash = 2166136261n;
    for (const byte of Buffer.from(text)) hash = ((hash ^ BigInt(byte)) * 16777619n) & 0xffffffffn;
    return Number(hash);
  };
  const letters = "bcdfghjklmnpqrstvwxz2456789";
  const encoded = [...String(fnv("{}"))].map((digit) => letters[digit.charCodeAt(0) % 27]).join("");
  expect(templateHash({}, undefined)).toBe(encoded);
});

test("the data of a revision is in order, has no nulls, and says that it replaces", () => {
  const owner = set();
  const template = {
    spec: { hostNetwork: true, containers: [] },
    metadata: { creationTimestamp: null, labels: { app: "agent" } },
  };
  // As an older server would have sent it.
  const sent: unknown = { ...owner, spec: { ...owner.spec, template } };
  expect(JSON.stringify(revisionData(sent as typeof owner))).toBe(
    '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"agent"}},"spec":{"containers":[],"hostNetwork":true}}}}',
  );
});

test("a revision is known by its content, whatever it is called and whoever made it", () => {
  const owner = set();
  const old = revisionOf(set({ image: "agent:0" }), 5, "agent-xyz");
  const written: unknown = JSON.parse(canonicalJson(revisionOf(owner).data));
  const foreign = { ...revisionOf(owner, 3, "agent-55d55658c5"), data: written as object };
  const { present, old: others } = historyOf(owner, [old, foreign]);
  expect(present.map(({ metadata }) => metadata.name)).toEqual(["agent-55d55658c5"]);
  expect(others).toEqual([old]);
  expect(presentHash(owner)).not.toBe("55d55658c5");
});
