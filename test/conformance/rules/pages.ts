import { numberAt, textAt } from "../../../agent/api/json.ts";
import type { Answer } from "../answer.ts";
import type { Query } from "../client.ts";
import type { Ground } from "../ground.ts";
import { at, lease } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";

const ten = Array.from({ length: 10 }, (_, i) => `lease-${i}`);

/** All pages of a list, one after the other. */
async function pagesOf(
  site: Ground,
  path: string,
  query: Query,
  between?: (page: number) => Promise<void>,
): Promise<Answer[]> {
  const pages: Answer[] = [];
  for (let token = ""; pages.length < 100; ) {
    const page = (await site.get(path, { ...query, ...(token !== "" && { continue: token }) })).is(200);
    pages.push(page);
    token = page.textAt("metadata", "continue");
    if (token === "") return pages;
    await between?.(pages.length);
  }
  return pages;
}

const namesIn = (pages: readonly Answer[]): readonly string[] => pages.flatMap(({ names }) => names);

/** Requests the first page and fails unless there is another one. */
async function firstPage(
  site: Ground,
  path: string,
  limit: number,
  query: Query = {},
): Promise<readonly [Answer, string]> {
  const page = (await site.get(path, { limit, ...query })).is(200);
  const token = page.textAt("metadata", "continue");
  page.holds("a continue token, for there is more", page.at("metadata"), token !== "");
  return [page, token];
}

export const pageRules: readonly Rule[] = [
  rule(
    "page-size",
    "a page has as many objects as its limit, and the last one has the rest: a small board reads page by page",
    async (site) => {
      const space = await site.space();
      await space.leases(...ten);
      const pages = await pagesOf(site, space.at("leases"), { limit: 4 });
      const [first] = pages;
      first?.same(
        "sizes of the pages",
        pages.map(({ items }) => items.length),
        [4, 4, 2],
      );
      first?.same("names of all pages", namesIn(pages), ten);
      pages.at(-1)?.same("the last page's continue", pages.at(-1)?.textAt("metadata", "continue"), "");
    },
  ),
  rule("page-exact", "a page that ends with the last object is the last page, even if it is full", async (site) => {
    const space = await site.space();
    await space.leases("a", "b", "c", "d");
    const pages = await pagesOf(site, space.at("leases"), { limit: 2 });
    pages[0]?.same(
      "sizes of the pages",
      pages.map(({ items }) => items.length),
      [2, 2],
    );
    const all = (await site.get(space.at("leases"), { limit: 4 })).lists(["a", "b", "c", "d"]);
    all.shows(undefined, "metadata", "continue");
    (await site.get(space.at("leases"), { limit: 500 }))
      .lists(["a", "b", "c", "d"])
      .shows(undefined, "metadata", "continue");
  }),
  rule("page-of-one", "pages of one object have each object once, in the order of the list", async (site) => {
    const space = await site.space();
    await space.leases("b", "a-b", "a", "a.b", "ab", "a0");
    const pages = await pagesOf(site, space.at("leases"), { limit: 1 });
    pages[0]?.same("names of all pages", namesIn(pages), ["a", "a-b", "a.b", "a0", "ab", "b"]);
  }),
  rule("page-remaining", "a page reports the number of remaining objects, if the server knows it", async (site) => {
    const space = await site.space();
    await space.leases(...ten);
    const [page] = await firstPage(site, space.at("leases"), 3);
    const left = numberAt(page.body, "metadata", "remainingItemCount");
    page.holds("remainingItemCount 7, or none", left, left === undefined || left === 7);
  }),
  rule(
    "page-one-version",
    "all pages show the state of the first one despite writes in between: nothing is lost or repeated",
    async (site) => {
      const space = await site.space();
      const leases = space.at("leases");
      await space.leases(...ten);
      const pages = await pagesOf(site, leases, { limit: 3 }, async (page) => {
        if (page > 1) return;
        // Before, after and at the key at which the pages continue.
        await space.leases("lease-00", "lease-55", "lease-99");
        (await site.delete(space.at("leases", "lease-1"))).is(200);
        (await site.delete(space.at("leases", "lease-2"))).is(200);
        (await site.delete(space.at("leases", "lease-3"))).is(200);
        (await site.delete(space.at("leases", "lease-9"))).is(200);
        (await site.patch(space.at("leases", "lease-7"), { spec: { holderIdentity: "new" } })).is(200);
      });
      const [first] = pages;
      first?.same("names of all pages", namesIn(pages), ten);
      first?.same("how many pages", pages.length, 4);
      first?.same("versions of the pages", new Set(pages.map(({ version }) => version)), new Set([first.version]));
      const seventh = pages
        .flatMap(({ items }) => items)
        .find((item) => textAt(item, "metadata", "name") === "lease-7");
      first?.same("what was written later", textAt(seventh, "spec", "holderIdentity"), "");
    },
  ),
  rule(
    "page-then-watch",
    "a watch from the version of the pages gets exactly the writes after the first page",
    async (site) => {
      const space = await site.space();
      const leases = space.at("leases");
      await space.leases("a", "b", "c", "d");
      const pages = await pagesOf(site, leases, { limit: 2 }, async () => {
        await space.leases("e");
        (await site.delete(space.at("leases", "c"))).is(200);
      });
      const watch = await site.watch(leases, { resourceVersion: pages.at(-1)?.version ?? "" });
      await space.leases("z");
      pages[0]?.same("names of all pages", namesIn(pages), ["a", "b", "c", "d"]);
      pages[0]?.same("events", await watch.tells(3), ["ADDED e", "DELETED c", "ADDED z"]);
    },
  ),
  rule("page-rest", "a continue token without a limit returns all the rest", async (site) => {
    const space = await site.space();
    await space.leases(...ten);
    const [page, token] = await firstPage(site, space.at("leases"), 3);
    const rest = (await site.get(space.at("leases"), { continue: token })).lists(ten.slice(3));
    rest.shows(undefined, "metadata", "continue").same("version", rest.version, page.version);
    (await site.get(space.at("leases"), { continue: token, limit: 5 })).lists(ten.slice(3, 8));
  }),
  rule(
    "page-selected",
    "with a selector, pages have exactly the selected objects, and none is lost between them",
    async (site) => {
      const space = await site.space();
      for (const [i, name] of ten.entries())
        await space.create("leases", lease(name, {}, { labels: { odd: String(i % 2 === 1) } }));
      const pages = await pagesOf(site, space.at("leases"), { limit: 2, labelSelector: "odd=true" });
      pages[0]?.same("names of all pages", namesIn(pages), ["lease-1", "lease-3", "lease-5", "lease-7", "lease-9"]);
      const largest = Math.max(...pages.map(({ items }) => items.length));
      pages[0]?.holds("no page of more than 2", largest, largest <= 2);
    },
  ),
  rule("page-all-namespaces", "pages over all namespaces continue from one namespace to the next", async (site) => {
    const spaces = [await site.space(), await site.space()];
    const mark = site.name();
    for (const space of spaces) {
      for (const name of ["a", "b", "c"]) await space.create("leases", lease(name, {}, { labels: { mark } }));
    }
    const pages = await pagesOf(site, at("leases"), { limit: 4, labelSelector: `mark=${mark}` });
    const found = pages
      .flatMap(({ items }) => items)
      .map((item) => `${textAt(item, "metadata", "namespace")}/${textAt(item, "metadata", "name")}`);
    const expected = spaces.flatMap(({ name }) => ["a", "b", "c"].map((one) => `${name}/${one}`));
    pages[0]?.same("objects in all pages", found, expected.toSorted());
    pages[0]?.same("how many pages", pages.length, 2);
  }),
  rule("page-token-unknown", "a forged continue token is refused with 400", async (site) => {
    const space = await site.space();
    for (const token of ["nonsense", Buffer.from('{"v":"other","rv":1,"start":"a"}').toString("base64url")]) {
      (await site.get(space.at("leases"), { limit: 2, continue: token })).fails(400, "BadRequest");
    }
  }),
  rule(
    "page-token-with-version",
    "a continue token has its own version: a resourceVersion beside it is refused with 400",
    async (site) => {
      const space = await site.space();
      await space.leases("a", "b", "c");
      const [page, token] = await firstPage(site, space.at("leases"), 2);
      (await site.get(space.at("leases"), { limit: 2, continue: token, resourceVersion: page.version })).fails(
        400,
        "BadRequest",
      );
    },
  ),
  rule("page-not-older", "pages with resourceVersionMatch NotOlderThan lose nothing", async (site) => {
    const space = await site.space();
    await space.leases(...ten);
    const resourceVersion = (await site.get(space.at("leases"))).version;
    const query = { limit: 4, resourceVersion, resourceVersionMatch: "NotOlderThan" };
    const page = (await site.get(space.at("leases"), query)).is(200);
    const token = page.textAt("metadata", "continue");
    const rest = token === "" ? [] : await pagesOf(site, space.at("leases"), { limit: 4, continue: token });
    page.same("names of all pages", namesIn([page, ...rest]), ten);
  }),
];
