import { expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { pods, type Resource } from "../../../agent/api/resources.ts";
import type { ListOptions, ListResult, PageInLine } from "../../../agent/client/kube-client.ts";
import { Pages } from "../../../agent/informer/pages.ts";
import { replaceByPages } from "../../../agent/informer/reflector/replace-by-pages.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { pod } from "./objects.ts";

/** One request for a page: when it was made, and what the story lets become of it. */
interface Asked {
  readonly token: string | undefined;
  readonly inLine: PageInLine | undefined;
  readonly signal: AbortSignal;
  readonly each: (object: KubeObject) => void;
  readonly answer: PromiseWithResolvers<ListResult>;
  hasItsTurn: boolean;
}

const page = (next: string | undefined): ListResult => ({
  resourceVersion: "7",
  continue: next,
  items: 0,
  rejectedItems: 0,
  rejected: [],
});

/** A server whose pages come when the story says so. */
class SlowServer {
  readonly asked: Asked[] = [];

  list<T extends KubeObject>(
    _resource: Resource<T>,
    options: ListOptions,
    each: (object: T) => void,
    signal: AbortSignal,
    inLine?: PageInLine,
  ): Promise<ListResult> {
    const answer = Promise.withResolvers<ListResult>();
    // Only pods are listed here.
    const accept = each as (object: KubeObject) => void;
    const one: Asked = {
      token: options.continue,
      inLine,
      signal,
      each: accept,
      answer,
      hasItsTurn: inLine === undefined,
    };
    inLine?.turn.then(() => {
      one.hasItsTurn = true;
    });
    signal.addEventListener("abort", () => answer.reject(signal.reason), { once: true });
    this.asked.push(one);
    return answer.promise;
  }

  get tokens(): readonly (string | undefined)[] {
    return this.asked.map(({ token }) => token);
  }

  nth(at: number): Asked {
    return this.asked[at] ?? expect.fail(`page ${at} was not asked for`);
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function site() {
  const clock = new FakeClock();
  const server = new SlowServer();
  const stop = new AbortController();
  const options = (token: string | undefined): ListOptions => (token === undefined ? {} : { continue: token });
  const pages = new Pages(clock, { client: server, resource: pods, options, each: () => {} });
  return { clock, server, stop, pages };
}

test("on a fast link the next page is requested while one is processed, and waits for its turn", async () => {
  const { clock, server, stop, pages } = site();
  const first = pages.take(undefined, stop.signal);
  server.nth(0).inLine?.onContinue("b");
  expect(server.tokens).toEqual([undefined]);
  await clock.advance("4s");
  server.nth(0).answer.resolve(page("b"));
  await first;

  const second = pages.take("b", stop.signal);
  server.nth(1).inLine?.onContinue("c");
  await settled();
  expect(server.tokens).toEqual([undefined, "b", "c"]);
  expect(server.asked.map(({ hasItsTurn }) => hasItsTurn)).toEqual([true, true, false]);
  server.nth(2).inLine?.onContinue("c");
  server.nth(1).answer.resolve(page("c"));
  await second;
  expect(server.nth(2).hasItsTurn).toBe(false);

  const third = pages.take("c", stop.signal);
  await settled();
  expect(server.nth(2).hasItsTurn).toBe(true);
  server.nth(2).answer.resolve(page(undefined));
  expect((await third).continue).toBeUndefined();
  expect(server.tokens).toEqual([undefined, "b", "c"]);
});

test("a page that took five seconds does not share the link with the next one", async () => {
  const { clock, server, stop, pages } = site();
  const first = pages.take(undefined, stop.signal);
  await clock.advance("5s");
  server.nth(0).answer.resolve(page("b"));
  await first;
  const second = pages.take("b", stop.signal);
  server.nth(1).inLine?.onContinue("c");
  expect(server.tokens).toEqual([undefined, "b"]);
  server.nth(1).answer.resolve(page("c"));
  await second;
  void pages.take("c", stop.signal).catch(() => {});
  expect(server.tokens).toEqual([undefined, "b", "c"]);
});

test("a page whose continue token differs from the early one is followed by the right page", async () => {
  const { server, stop, pages } = site();
  const first = pages.take(undefined, stop.signal);
  server.nth(0).answer.resolve(page("b"));
  await first;
  const second = pages.take("b", stop.signal);
  server.nth(1).inLine?.onContinue("elsewhere");
  server.nth(1).answer.resolve(page("c"));
  await second;
  const third = pages.take("c", stop.signal);
  expect(server.tokens).toEqual([undefined, "b", "elsewhere", "c"]);
  server.nth(3).answer.resolve(page(undefined));
  await third;
  expect(server.nth(2).hasItsTurn).toBe(false);
});

test("a failed early page is reported when its turn comes, but not if the list ends earlier", async () => {
  const { server, stop, pages } = site();
  const first = pages.take(undefined, stop.signal);
  server.nth(0).answer.resolve(page("b"));
  await first;
  const second = pages.take("b", stop.signal);
  server.nth(1).inLine?.onContinue("c");
  server.nth(2).answer.reject(new Error("expired"));
  await settled();
  server.nth(1).answer.resolve(page("c"));
  expect((await second).continue).toBe("c");
  await expect(pages.take("c", stop.signal)).rejects.toThrow("expired");
});

/** A list of pods into a store that only counts. */
function listing(server: SlowServer) {
  const seen: string[] = [];
  const ends: string[] = [];
  const store = {
    replace: () => ({
      page: (objects: readonly KubeObject[]) => void seen.push(...objects.map(({ metadata }) => metadata.name)),
      stageDeletions: () => false,
      commit: (resourceVersion: string) => void ends.push(`committed at ${resourceVersion}`),
      abort: () => void ends.push("given up"),
    }),
  };
  const accepted = <T>(object: T): T => object;
  return {
    seen,
    ends,
    listing: { resource: pods, selection: {}, client: server, store, accepted, rejected: () => {} },
  };
}

test.each<[how: string, end: (server: SlowServer, stop: AbortController) => void, why: string]>([
  ["breaks off", (server) => server.nth(1).answer.reject(new Error("broken off")), "broken off"],
  ["is stopped", (_, stop) => stop.abort(new Error("stopped")), "stopped"],
])("a list that %s aborts the early page, and keeps nothing", async (_, end, why) => {
  const clock = new FakeClock();
  const server = new SlowServer();
  const stop = new AbortController();
  const { listing: what, ends } = listing(server);
  const listed = replaceByPages(clock, what, { resourceVersion: "", limit: 500 }, stop.signal);
  server.nth(0).answer.resolve(page("b"));
  await settled();
  server.nth(1).inLine?.onContinue("c");
  expect(server.tokens).toEqual([undefined, "b", "c"]);
  end(server, stop);
  await expect(listed).rejects.toThrow(why);
  expect(server.nth(2).signal.aborted).toBe(true);
  expect(ends).toEqual(["given up"]);
});

test("a paged list is stored in its order, and does not leave a request open at its end", async () => {
  const clock = new FakeClock();
  const server = new SlowServer();
  const stop = new AbortController();
  const { listing: what, seen, ends } = listing(server);
  const listed = replaceByPages(clock, what, { resourceVersion: "", limit: 500 }, stop.signal);
  const tokens = ["b", "c", "d", undefined];
  for (const [at, next] of tokens.entries()) {
    await settled();
    const asked = server.nth(at);
    expect(asked.hasItsTurn).toBe(true);
    if (next !== undefined) asked.inLine?.onContinue(next);
    for (const name of ["x", "y"]) asked.each(pod(`${at}-${name}`));
    asked.answer.resolve(page(next));
  }
  expect(await listed).toBe(true);
  expect(seen).toEqual(["0-x", "0-y", "1-x", "1-y", "2-x", "2-y", "3-x", "3-y"]);
  expect(ends).toEqual(["committed at 7"]);
  expect(server.tokens).toEqual([undefined, "b", "c", "d"]);
});

test("large objects of a page are stored a few at a time", async () => {
  const server = new SlowServer();
  const { listing: what } = listing(server);
  const batches: number[] = [];
  const store = {
    replace: () => ({ ...what.store.replace(), page: ({ length }: readonly unknown[]) => batches.push(length) }),
  };
  const listed = replaceByPages(
    new FakeClock(),
    { ...what, store },
    { resourceVersion: "", limit: 500 },
    new AbortController().signal,
  );
  const tolerations = Array.from({ length: 9000 }, () => ({ key: "a" }));
  const asked = server.nth(0);
  for (let i = 0; i < 7; i++) asked.each({ ...pod(`large-${i}`), spec: { tolerations } } as KubeObject);
  asked.answer.resolve(page(undefined));
  await listed;
  expect(batches).toEqual([3, 3, 1]);
});
