import { textAt } from "../../../agent/api/json.ts";
import { overHttp2 } from "../http2.ts";
import { boundPod, configMap, lease } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";
import { same } from "../unmet.ts";

const dry = { dryRun: "All" };

export const requestRules: readonly Rule[] = [
  rule("dry-run", "a dry run answers like the write, but changes nothing and sends no event", async (site) => {
    const space = await site.space();
    const created = await space.create("leases", lease("one", { holderIdentity: "a" }));
    const watch = await site.watch(space.at("leases"), { resourceVersion: created.version });
    (await site.post(space.at("leases"), lease("two"), dry)).is(201).shows("two", "metadata", "name");
    (await site.post(space.at("leases"), lease("one"), dry)).fails(409, "AlreadyExists");
    (await site.post(space.at("leases"), lease("no name"), dry)).fails(422, "Invalid");
    const put = { ...created.body, spec: { holderIdentity: "b" } };
    (await site.put(space.at("leases", "one"), put, dry)).is(200).shows("b", "spec", "holderIdentity");
    (await site.patch(space.at("leases", "one"), { spec: { holderIdentity: "c" } }, undefined, dry))
      .is(200)
      .shows("c", "spec", "holderIdentity");
    (await site.delete(space.at("leases", "one"), undefined, dry)).is(200);
    (await site.delete(space.at("leases", "one"), { dryRun: ["All"] })).is(200);
    (await site.delete(space.at("leases"), undefined, dry)).is(200);
    (await site.get(space.at("leases"))).lists(["one"]);
    (await site.get(space.at("leases", "one"))).same(
      "the object",
      (await site.get(space.at("leases", "one"))).body,
      created.body,
    );
    (await site.post(space.at("leases"), lease("two"), { dryRun: "Some" })).fails(422, "Invalid");
    await space.leases("z");
    same(watch.request, "events", await watch.tells(1), ["ADDED z"]);
  }),
  rule("dry-run-status", "a dry run of a status, a mark or an eviction changes nothing either", async (site) => {
    const space = await site.space();
    const created = await space.create("pods", boundPod("one"));
    (await site.patch(space.at("pods", "one", "status"), { status: { phase: "Running" } }, undefined, dry))
      .is(200)
      .shows("Running", "status", "phase");
    (await site.delete(space.at("pods", "one"), undefined, dry)).is(200);
    const eviction = { kind: "Eviction", apiVersion: "policy/v1", metadata: { name: "one" } };
    (await site.post(space.at("pods", "one", "eviction"), eviction, dry)).is(201);
    (await site.get(space.at("pods", "one"))).shows(created.version, "metadata", "resourceVersion");
  }),
  rule("pretty", "pretty answers are the same document, with line breaks", async (site) => {
    const space = await site.space();
    const created = await space.create("configmaps", configMap("one", { a: "1" }));
    const pretty = (await site.get(space.at("configmaps", "one"), { pretty: true })).is(200);
    pretty
      .holds("an indented document", pretty.text, /\n {2}"kind"/.test(pretty.text))
      .same("the object", pretty.body, created.body);
    const plain = (await site.get(space.at("configmaps", "one"), { pretty: false })).is(200);
    plain.holds("one line", plain.text, !plain.text.trim().includes("\n"));
  }),
  rule("gzip", "a large list is compressed on request; small answers and watches are not", async (site) => {
    const space = await site.space();
    for (const name of ["a", "b", "c"])
      await space.create("configmaps", configMap(name, { text: "words and words ".repeat(6000) }));
    const packed = (await site.get(space.at("configmaps"), {}, { "accept-encoding": "gzip" })).is(200);
    packed.same("content-encoding", packed.headers["content-encoding"], "gzip");
    packed.holds("a small answer", packed.wireBytes, packed.wireBytes < packed.text.length / 10);
    const plain = (await site.get(space.at("configmaps"))).is(200);
    plain
      .same("content-encoding", plain.headers["content-encoding"], undefined)
      .same("names", packed.names, plain.names);
    plain.same("the items", packed.items, plain.items);
    const small = (await site.get(space.at("configmaps", "a"), {}, { "accept-encoding": "gzip" })).is(200);
    small.same("content-encoding of 90 kB", small.headers["content-encoding"], undefined);
  }),
  rule("yaml", "a body may be YAML", async (site) => {
    const space = await site.space();
    const body = 'kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: one\ndata:\n  a: "1"\n';
    const created = (await site.client.ask("POST", space.at("configmaps"), { body, type: "application/yaml" })).is(201);
    created.shows({ a: "1" }, "data");
  }),
  rule("content-type-parameters", "a content type may carry parameters", async (site) => {
    const space = await site.space();
    const asked = { body: configMap("one"), type: "application/json; charset=utf-8" };
    (await site.client.ask("POST", space.at("configmaps"), asked)).is(201);
    (
      await site.patch(
        space.at("configmaps", "one"),
        { data: { a: "1" } },
        "application/merge-patch+json; charset=utf-8",
      )
    ).is(200);
  }),
  rule("http2", "lists, writes and a watch share one HTTP/2 connection", async (site) => {
    const space = await site.space();
    await space.leases("a", "b");
    const { version } = (await site.get(space.at("leases"))).is(200);
    await using connection = await overHttp2(site.target);
    const watch = connection.lines(`${space.at("leases")}?watch=true&resourceVersion=${version}`);
    const lists = await Promise.all(Array.from({ length: 10 }, () => connection.get(space.at("leases"))));
    for (const list of lists) list.lists(["a", "b"]);
    await space.leases("c");
    const line = await watch;
    same(
      `GET ${space.at("leases")}?watch=true over HTTP/2`,
      "the first event",
      [line.type, textAt(line.object, "metadata", "name")],
      ["ADDED", "c"],
    );
  }),
];
