import { itemsAt, textAt, valueAt } from "../../../agent/api/json.ts";
import type { Answer } from "../answer.ts";
import { at, boundPod, configMap, lease, node, partialListType, partialType, tableType } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";
import { same } from "../unmet.ts";

const columnsOf = (table: Answer): readonly string[] =>
  itemsAt(table.body, "columnDefinitions").map((one) => textAt(one, "name"));

const asTable = { accept: `${tableType},application/json` };

export const tableRules: readonly Rule[] = [
  rule("table", "a Table names its columns and has a row with as many cells for each object", async (site) => {
    const space = await site.space();
    await space.create("configmaps", configMap("one", { a: "1", b: "2" }));
    await space.leases("a", "b");
    const table = (await site.get(space.at("leases"), {}, asTable)).is(200);
    table
      .shows("Table", "kind")
      .shows("meta.k8s.io/v1", "apiVersion")
      .same("columns", columnsOf(table), ["Name", "Holder", "Age"]);
    const rows = itemsAt(table.body, "rows");
    table.same(
      "names",
      rows.map((row) => itemsAt(row, "cells")[0]),
      ["a", "b"],
    );
    table.same(
      "numbers of cells",
      rows.map((row) => itemsAt(row, "cells").length),
      [3, 3],
    );
    table.holds("a resourceVersion", table.version, /^[1-9]\d*$/.test(table.version));
    const one = (await site.get(space.at("configmaps", "one"), {}, asTable)).is(200).shows("Table", "kind");
    one.same("columns", columnsOf(one), ["Name", "Data", "Age"]);
    one.same("cells", itemsAt(itemsAt(one.body, "rows")[0], "cells").slice(0, 2), ["one", 2]);
  }),
  rule("table-of-boards", "boards and pods have the usual columns", async (site) => {
    const space = await site.space();
    const name = site.name();
    await site.make("nodes", { ...node(name), metadata: { name } });
    await space.create("pods", boundPod("one"));
    const boards = (await site.get(at("nodes"), { fieldSelector: `metadata.name=${name}` }, asTable)).is(200);
    const wide = ["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"];
    boards.same("columns", columnsOf(boards), ["Name", "Status", "Roles", "Age", "Version", ...wide]);
    boards.same("cells", itemsAt(itemsAt(boards.body, "rows")[0], "cells").slice(0, 3), [name, "Unknown", "<none>"]);
    const pods = (await site.get(space.at("pods"), {}, asTable)).is(200);
    const more = ["IP", "Node", "Nominated Node", "Readiness Gates"];
    pods.same("columns", columnsOf(pods), ["Name", "Ready", "Status", "Restarts", "Age", ...more]);
    pods.same("cells", itemsAt(itemsAt(pods.body, "rows")[0], "cells").slice(0, 4), ["one", "0/1", "Pending", "0"]);
  }),
  rule(
    "table-objects",
    "a row has the metadata of its object, the whole object or nothing, as requested",
    async (site) => {
      const space = await site.space();
      const created = await space.create("leases", lease("a", { holderIdentity: "pi-1" }));
      const rowOf = async (query: { readonly includeObject?: string }) =>
        valueAt(itemsAt((await site.get(space.at("leases"), query, asTable)).is(200).body, "rows")[0], "object");
      const usual = await rowOf({});
      created.same("kind of the usual row's object", textAt(usual, "kind"), "PartialObjectMetadata");
      created.same("its metadata", valueAt(usual, "metadata"), created.at("metadata"));
      created.same("the object asked for", valueAt(await rowOf({ includeObject: "Object" }), "spec"), {
        holderIdentity: "pi-1",
      });
      const none = (await rowOf({ includeObject: "None" })) ?? null;
      created.same("no object", none, null);
      (await site.get(space.at("leases"), { includeObject: "Some" }, asTable)).fails(400, "BadRequest");
    },
  ),
  rule("table-pages", "a Table supports pages and selectors like a list", async (site) => {
    const space = await site.space();
    for (const name of ["a", "b", "c"])
      await space.create("leases", lease(name, {}, { labels: { odd: String(name !== "b") } }));
    const first = (await site.get(space.at("leases"), { limit: 2 }, asTable)).is(200);
    first.same("rows", itemsAt(first.body, "rows").length, 2);
    const rest = (
      await site.get(space.at("leases"), { limit: 2, continue: first.textAt("metadata", "continue") }, asTable)
    ).is(200);
    rest.same(
      "rows",
      itemsAt(rest.body, "rows").map((row) => itemsAt(row, "cells")[0]),
      ["c"],
    );
    const odd = (await site.get(space.at("leases"), { labelSelector: "odd=true" }, asTable)).is(200);
    odd.same(
      "rows",
      itemsAt(odd.body, "rows").map((row) => itemsAt(row, "cells")[0]),
      ["a", "c"],
    );
  }),
  rule("table-watch", "a watch of Tables sends each change as a Table of one row", async (site) => {
    const space = await site.space();
    const { version } = (await site.get(space.at("leases"))).is(200);
    const watch = await site.watch(space.at("leases"), { resourceVersion: version }, asTable.accept);
    const created = await space.create("leases", lease("a", { holderIdentity: "pi-1" }));
    const event = await watch.next("ADDED, as a Table");
    same(watch.request, "type", event.type, "ADDED");
    same(watch.request, "kind", textAt(event.object, "kind"), "Table");
    const [row] = itemsAt(event.object, "rows");
    same(watch.request, "cells", itemsAt(row, "cells").slice(0, 2), ["a", "pi-1"]);
    same(watch.request, "the row's metadata", valueAt(row, "object", "metadata"), created.at("metadata"));
  }),
  rule(
    "metadata-only",
    "objects can be requested by their metadata alone: unread members cost nothing",
    async (site) => {
      const space = await site.space();
      const created = await space.create("configmaps", configMap("one", { a: "1" }, { labels: { app: "web" } }));
      const read = (
        await site.get(space.at("configmaps", "one"), {}, { accept: `${partialType},application/json` })
      ).is(200);
      read.shows("PartialObjectMetadata", "kind").shows(undefined, "data").shows(created.at("metadata"), "metadata");
      const list = (
        await site.get(space.at("configmaps"), { labelSelector: "app=web" }, { accept: partialListType })
      ).lists(["one"]);
      list.shows("PartialObjectMetadataList", "kind").shows("meta.k8s.io/v1", "apiVersion");
      list.same("data of the item", valueAt(list.items[0], "data"), undefined);
      list.same("metadata of the item", valueAt(list.items[0], "metadata"), created.at("metadata"));
    },
  ),
  rule("not-acceptable", "a request that accepts no served type gets 406", async (site) => {
    const space = await site.space();
    for (const accept of [
      "text/html",
      "application/json;as=Chair;v=v1;g=meta.k8s.io",
      "application/json;as=Table;v=v9;g=meta.k8s.io",
    ]) {
      (await site.get(space.at("leases"), {}, { accept })).is(406);
    }
    (await site.get(space.at("leases"), {}, { accept: "text/html,application/json;q=0.5" })).lists([]);
    (await site.get(space.at("leases"), {}, { accept: "*/*" })).lists([]);
  }),
];
