import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nodes, pods, replicaSets } from "../../../agent/api/resources.ts";
import { SystemClock } from "../../../agent/base/clock.ts";
import { TaskGroup } from "../../../agent/base/concurrency/tasks.ts";
import { HttpExchange } from "../../../simulator/client/http-exchange.ts";
import { Mirror } from "../../../simulator/client/mirror.ts";
import { SiteClient } from "../../../simulator/client/site-client.ts";
import { Collector } from "../../../simulator/cluster/collector.ts";
import { Scheduler } from "../../../simulator/cluster/scheduler.ts";
import { WorkloadKeeper } from "../../../simulator/cluster/workloads.ts";
import { SiteApi } from "../../../simulator/site-api/site-api.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const assets = process.env.KUBEBUILDER_ASSETS;
const binary = path.join(assets ?? "", "kubectl");
const missing =
  assets === undefined
    ? "KUBEBUILDER_ASSETS names no folder"
    : existsSync(binary)
      ? undefined
      : `there is no ${binary}`;

if (missing !== undefined) console.log(`kubectl is not tried against the embedded site: ${missing}`);

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

describe.skipIf(missing !== undefined)("an unmodified kubectl", () => {
  const stop = new AbortController();
  let api: SiteApi;
  let server: string;
  let running: Promise<void>;
  let home: string;

  beforeAll(async () => {
    home = mkdtempSync(path.join(tmpdir(), "kubectl-"));
    api = new SiteApi(
      { clock: new SystemClock(), random: new SeededRandom(), log: new RecordingLog() },
      { file: path.join(home, "site.db") },
    );
    running = api.run(stop.signal);
    server = `http://127.0.0.1:${(await api.listen(0)).port}`;
  });

  afterAll(async () => {
    stop.abort(new Error("the test is over"));
    await running;
    await api.close();
    rmSync(home, { recursive: true });
  });

  const at = (): string[] => ["--server", server];
  const environment = () => ({ HOME: home, PATH: process.env.PATH, KUBECONFIG: "/dev/null", TMPDIR: home });

  /** Whatever comes of it. */
  function tried(line: string, input = ""): Promise<Said> {
    // Words, and 'words within quotes'.
    const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
    return new Promise((resolve) => {
      const child = execFile(binary, [...at(), ...words], { env: environment() }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code), out, err });
      });
      child.stdin?.end(input);
    });
  }

  /** What it prints, if it succeeds. */
  async function kubectl(line: string, input?: string): Promise<string> {
    const { code, out, err } = await tried(line, input);
    if (code !== 0) throw new Error(`kubectl ${line}: ${code}\n${out}${err}`);
    return out;
  }

  const rows = (text: string): string[][] =>
    text
      .trim()
      .split("\n")
      .map((line) => line.trim().split(/\s{2,}/));

  const board = (name: string): string => `
apiVersion: v1
kind: Node
metadata: {name: ${name}, labels: {zone: east}}
status:
  conditions: [{type: Ready, status: "True"}]
  addresses: [{type: InternalIP, address: 10.0.0.1}]
  nodeInfo: {kubeletVersion: v1.36.0, osImage: Debian}
`;

  const bound = (name: string, node: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: web}}
spec: {nodeName: ${node}, containers: [{name: main, image: "busybox:1"}]}
`;

  const loose = (name: string): string => bound(name, "").replace("nodeName: , ", "");

  test("applies several documents, again without a change, and again with one", async () => {
    const documents = (value: string): string => `${board("apply-1")}---\n${loose("apply-pod")}---
apiVersion: v1
kind: ConfigMap
metadata: {name: apply-map}
data: {key: ${value}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: apply-set}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: "busybox:1"}, {name: side, image: "busybox:1"}]}}
`;
    const outcomes = async (value: string): Promise<string[]> =>
      (await kubectl("apply -f -", documents(value)))
        .trim()
        .split("\n")
        .map((line) => line.split(" ")[1] ?? "");
    expect(await outcomes("one")).toEqual(["created", "created", "created", "created"]);
    expect(await outcomes("one")).toEqual(["unchanged", "unchanged", "unchanged", "unchanged"]);
    expect(await outcomes("two")).toEqual(["unchanged", "unchanged", "configured", "unchanged"]);
    expect(await kubectl("get configmap apply-map -o jsonpath={.data.key}")).toBe("two");
    const changed = documents("two").replace(
      'main, image: "busybox:1"}, {name: side',
      'main, image: "busybox:2"}, {name: side',
    );
    expect(await kubectl("apply -f -", changed)).toContain("daemonset.apps/apply-set configured");
    const images = "get daemonset apply-set -o jsonpath={.spec.template.spec.containers[*].image}";
    expect(await kubectl(images)).toBe("busybox:2 busybox:1");
    expect(await kubectl("delete -f -", documents("two"))).toContain('configmap "apply-map" deleted');
  });

  test("applies a List, and prunes objects that are no longer in the documents", async () => {
    const map = (name: string): string =>
      `{apiVersion: v1, kind: ConfigMap, metadata: {name: ${name}, labels: {set: pruned}}}`;
    const list = `apiVersion: v1\nkind: List\nitems:\n- ${map("list-a")}\n- ${map("list-b")}\n`;
    expect(await kubectl("apply -f -", list)).toBe("configmap/list-a created\nconfigmap/list-b created\n");
    expect(await kubectl("apply -f - --prune -l set=pruned", map("list-a"))).toBe(
      "configmap/list-a unchanged\nconfigmap/list-b pruned\n",
    );
    await kubectl("delete configmap list-a");
  });

  test("gets a warning for kinds without a controller", async () => {
    const { out, err } = await tried("create job once --image=busybox:1");
    expect(out).toBe("job.batch/once created\n");
    expect(err).toContain("Warning: no controller of this embedded site handles a Job");
    await kubectl("create cronjob often --image=busybox:1 --schedule=@daily");
    await kubectl("create ingress way --rule=a/b=web:80");
    const shown = "get job/once cronjob/often ingress/way -o name";
    expect(await kubectl(shown)).toBe("job.batch/once\ncronjob.batch/often\ningress.networking.k8s.io/way\n");
    expect(rows(await kubectl("get jobs"))).toEqual([
      ["NAME", "AGE"],
      ["once", expect.any(String)],
    ]);
    expect(await kubectl("describe job once")).toContain("busybox:1");
    const set = (image: string): string => `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: main, image: "${image}"}, {name: side, image: "x:1"}]}}
`;
    await kubectl("apply -f -", set("x:1"));
    await kubectl("apply -f -", set("x:2"));
    const images = "get statefulset db -o jsonpath={.spec.template.spec.containers[*].image}";
    expect(await kubectl(images)).toBe("x:2 x:1");
    expect(await kubectl("describe statefulset db")).toContain("Replicas:           1 desired | 0 total");
    expect((await tried("scale statefulset db --replicas=3")).err).toContain("there is nothing to scale");
    expect((await tried("create role r --verb=get --resource=pods")).err).toContain("(NotFound)");
    expect(await kubectl("auth can-i --list")).toContain("*.*");
    await kubectl("delete job,cronjob,ingress,statefulset --all");
  });

  test("gets tables, wide tables, YAML, JSON and selections", async () => {
    await kubectl("create -f -", `${board("get-1")}---\n${bound("get-a", "get-1")}---\n${bound("get-b", "elsewhere")}`);
    expect(rows(await kubectl("get nodes"))).toEqual([
      ["NAME", "STATUS", "ROLES", "AGE", "VERSION"],
      ["get-1", "Ready", "<none>", expect.stringMatching(/^\d+s$/), "v1.36.0"],
    ]);
    expect(rows(await kubectl("get node get-1 -o wide"))[1]).toContain("10.0.0.1");
    expect(rows(await kubectl("get pods --show-labels"))[1]).toContain("app=web");
    expect(await kubectl("get pods -o name")).toBe("pod/get-a\npod/get-b\n");
    expect(await kubectl("get pods -o name --field-selector spec.nodeName=get-1")).toBe("pod/get-a\n");
    expect(await kubectl("get pods -o name -l app=db")).toBe("");
    expect(await kubectl("get pod get-a -o yaml")).toMatch(/^apiVersion: v1\nkind: Pod\n/);
    expect(JSON.parse(await kubectl("get pods -A -o json"))).toMatchObject({
      kind: "List",
      items: [{ kind: "Pod" }, {}],
    });
    expect(JSON.parse(await kubectl("get --raw /api/v1/namespaces/default/pods?limit=1"))).toMatchObject({
      metadata: { remainingItemCount: 1 },
    });
    expect((await tried("get pod none")).err).toBe('Error from server (NotFound): pods "none" not found\n');
    expect((await tried("get toasters")).err).toContain('the server doesn\'t have a resource type "toasters"');
    await kubectl("delete pod get-a get-b --force --grace-period=0");
    await kubectl("delete node get-1");
  });

  test("watches objects", async () => {
    await kubectl("create configmap seen --from-literal=a=b");
    const watch = spawn(binary, [...at(), "get", "configmap", "seen", "-w", "--output-watch-events"], {
      env: environment(),
    });
    let out = "";
    watch.stdout.on("data", (chunk) => {
      out += chunk;
    });
    const watched = (): string[] => rows(out).map(([event, name]) => `${event} ${name}`);
    await expect.poll(watched, { timeout: 10_000 }).toEqual(["EVENT NAME", "ADDED seen"]);
    await kubectl("annotate configmap seen note=x");
    await kubectl("delete configmap seen");
    await expect
      .poll(watched, { timeout: 10_000 })
      .toEqual(["EVENT NAME", "ADDED seen", "MODIFIED seen", "DELETED seen"]);
    watch.kill();
    await once(watch, "close");
  });

  test("creates objects by command, which Go clients send as protobuf", async () => {
    expect(await kubectl("create namespace shop")).toBe("namespace/shop created\n");
    expect(await kubectl("create configmap conf -n shop --from-literal=a=b")).toBe("configmap/conf created\n");
    expect((await tried("create configmap conf -n shop")).err).toContain('configmaps "conf" already exists');
    await kubectl("create secret generic key -n shop --from-literal=a=b");
    expect(await kubectl("get secret key -n shop -o jsonpath={.data.a}")).toBe("Yg==");
    await kubectl("create service clusterip web -n shop --tcp=80:8080");
    await kubectl("create serviceaccount robot -n shop");
    await kubectl("create deployment web -n shop --image=busybox:1 --replicas=0 --port=80");
    expect(rows(await kubectl("get deployments -n shop"))[1]?.slice(0, 2)).toEqual(["web", "0/0"]);
    expect(rows(await kubectl("get all -n shop -o name")).flat()).toEqual(["service/web", "deployment.apps/web"]);
    expect(await kubectl("auth can-i delete nodes")).toBe("yes\n");
    expect(await kubectl("auth whoami -o jsonpath={.status.userInfo.username}")).toBe("admin");
    expect(await kubectl("delete namespace shop")).toContain('namespace "shop" deleted');
    expect((await tried("get namespace shop")).code).toBe(1);
  });

  test("describes boards and pods", async () => {
    await kubectl("create -f -", `${board("event-1")}---\n${bound("event-pod", "event-1")}`);
    const uid = await kubectl("get pod event-pod -o jsonpath={.metadata.uid}");
    const involvedObject = { kind: "Pod", namespace: "default", name: "event-pod", uid };
    const event = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "reported" },
      involvedObject,
      reason: "Pulled",
      type: "Normal",
    };
    await kubectl("create -f -", JSON.stringify(event));
    const node = await kubectl("describe node event-1");
    expect(node).toMatch(/Name:\s+event-1/);
    expect(node).toMatch(/default\s+event-pod/);
    expect(node).toContain("node.kubernetes.io/not-ready:NoSchedule");
    const pod = await kubectl("describe pod event-pod");
    expect(pod).toMatch(/Node:\s+event-1/);
    expect(pod).toMatch(/Normal\s+Pulled/);
    expect(rows(await kubectl("get events"))[1]).toEqual(expect.arrayContaining(["Normal", "Pulled", "pod/event-pod"]));
    await kubectl("delete pod event-pod --force --grace-period=0");
    await kubectl("delete node event-1");
  });

  test("labels, annotates, taints, cordons and patches in three ways", async () => {
    await kubectl("create -f -", board("mark-1"));
    expect(await kubectl("label node mark-1 rack=1")).toBe("node/mark-1 labeled\n");
    expect(await kubectl("label node mark-1 rack-")).toBe("node/mark-1 unlabeled\n");
    expect(await kubectl("annotate node mark-1 note=x")).toBe("node/mark-1 annotated\n");
    expect(await kubectl("taint node mark-1 gone=yes:NoExecute")).toBe("node/mark-1 tainted\n");
    expect(await kubectl("taint node mark-1 gone-")).toBe("node/mark-1 untainted\n");
    expect(await kubectl("cordon mark-1")).toBe("node/mark-1 cordoned\n");
    expect(rows(await kubectl("get nodes"))[1]?.[1]).toBe("Ready,SchedulingDisabled");
    expect(await kubectl("get nodes -o name --field-selector spec.unschedulable=false")).toBe("");
    expect(await kubectl("uncordon mark-1")).toBe("node/mark-1 uncordoned\n");
    expect(await kubectl("get nodes -o name --field-selector spec.unschedulable=false")).toBe("node/mark-1\n");
    await kubectl('patch node mark-1 -p \'{"metadata":{"labels":{"a":"1"}}}\'');
    await kubectl('patch node mark-1 --type=merge -p \'{"metadata":{"labels":{"b":"2"}}}\'');
    await kubectl('patch node mark-1 --type=json -p \'[{"op":"add","path":"/metadata/labels/c","value":"3"}]\'');
    expect(await kubectl("get nodes -l a=1,b=2,c=3 -o name")).toBe("node/mark-1\n");
    await kubectl(
      'patch node mark-1 --subresource=status -p \'{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}\'',
    );
    expect(rows(await kubectl("get nodes"))[1]?.[1]).toBe("NotReady");
    await kubectl("delete node mark-1");
  });

  test("waits for a condition and for a deletion, drains, and deletes gently and by force", async () => {
    await kubectl("create -f -", `${board("drain-1")}---\n${bound("drain-pod", "drain-1")}`);
    const ready = tried("wait --for=condition=Ready pod/drain-pod --timeout=20s");
    await kubectl(
      'patch pod drain-pod --subresource=status -p \'{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}\'',
    );
    expect((await ready).out).toBe("pod/drain-pod condition met\n");
    const drained = tried("drain drain-1 --force --timeout=20s");
    const gone = tried("wait --for=delete pod/drain-pod --timeout=20s");
    await expect
      .poll(async () => kubectl("get pod drain-pod -o jsonpath={.metadata.deletionGracePeriodSeconds}"))
      .toBe("30");
    expect(rows(await kubectl("get pods"))[1]?.[2]).toBe("Terminating");
    await kubectl("delete pod drain-pod --force --grace-period=0");
    expect((await drained).out).toContain("node/drain-1 drained");
    expect((await gone).code).toBe(0);
    await kubectl("run loose --image=busybox:1");
    expect(await kubectl("delete pod loose")).toContain('pod "loose" deleted');
    await kubectl("delete node drain-1");
  });

  test("gets, scales, drains and deletes the pods of a ReplicaSet with a controller", async () => {
    const ambient = { clock: new SystemClock(), random: new SeededRandom(), log: new RecordingLog() };
    const http = new HttpExchange(Number(new URL(server).port));
    const client = new SiteClient(ambient, { exchange: http.exchange, timeout: 10_000, userAgent: "test" });
    const mirrors = {
      nodes: new Mirror(ambient, { client, resource: nodes }),
      pods: new Mirror(ambient, { client, resource: pods }),
      replicaSets: new Mirror(ambient, { client, resource: replicaSets }),
    };
    const workloads = [{ name: "web", replicas: 2, toleration: 5000, zone: undefined }];
    const parts = new TaskGroup();
    for (const [name, mirror] of Object.entries(mirrors)) parts.start(name, (signal) => mirror.run(signal));
    const keeper = new WorkloadKeeper(ambient, { client, ...mirrors, workloads });
    parts.start("keeper", (signal) => keeper.run(signal));
    const known = {
      owners: [{ resource: replicaSets, mirror: mirrors.replicaSets }],
      dependents: [{ resource: pods, mirror: mirrors.pods }],
    };
    parts.start("collector", (signal) => new Collector(ambient, { client, ...known }).run(signal));
    parts.start("scheduler", (signal) => new Scheduler(ambient, { client, ...mirrors }).run(signal));
    await kubectl("create -f -", board("keep-1"));
    // Of several pods it shows no Events.
    const waits = async (): Promise<string> => {
      const [name = ""] = (await kubectl("get pods -l app=web -o name")).split("\n");
      return kubectl(`describe ${name}`);
    };
    const watched = /Warning +FailedScheduling .* none of 1 boards fits: 1 tainted node.kubernetes.io\/not-ready\n/;
    await expect.poll(waits, { timeout: 20_000, interval: 500 }).toMatch(watched);
    await kubectl("taint node keep-1 node.kubernetes.io/not-ready-");
    const shown = async (): Promise<string[] | undefined> => rows(await kubectl("get rs web"))[1]?.slice(0, 4);
    await expect.poll(shown, { timeout: 10_000 }).toEqual(["web", "2", "2", "0"]);
    const boards = (): Promise<string> => kubectl("get pods -l app=web -o jsonpath={.items[*].spec.nodeName}");
    await expect.poll(boards, { timeout: 10_000 }).toBe("keep-1 keep-1");
    expect(await kubectl("describe rs web")).toMatch(/Replicas:\s+2 current \/ 2 desired/);
    const [pod = ""] = (await kubectl("get pods -l app=web -o name")).split("\n");
    expect(await kubectl(`describe ${pod}`)).toMatch(/Controlled By:\s+ReplicaSet\/web/);
    expect(await kubectl("scale rs web --replicas=3")).toBe("replicaset.apps/web scaled\n");
    await expect.poll(shown, { timeout: 10_000 }).toEqual(["web", "3", "3", "0"]);
    await expect.poll(boards, { timeout: 10_000 }).toBe("keep-1 keep-1 keep-1");
    expect((await tried("scale rs web --current-replicas=9 --replicas=1")).err).toContain("Expected replicas to be 9");

    const drained = tried("drain keep-1 --timeout=20s");
    await expect
      .poll(async () => kubectl("get pods -l app=web -o name --field-selector spec.nodeName="))
      .toMatch(/web/);
    const ending = (await kubectl("get pods -o name --field-selector spec.nodeName=keep-1"))
      .split("\n")
      .filter(Boolean);
    expect(ending).toHaveLength(3);
    await kubectl(`delete ${ending.join(" ")} --force --grace-period=0`);
    expect(await drained).toMatchObject({ code: 0, out: expect.stringContaining("node/keep-1 drained") });

    await expect.poll(shown, { timeout: 10_000 }).toEqual(["web", "3", "3", "0"]);
    const left = await kubectl("get pods -o name");
    expect(await kubectl("delete rs web --cascade=orphan")).toContain('replicaset.apps "web" deleted');
    expect(await kubectl("get pods -o jsonpath={.items[*].metadata.ownerReferences}")).toBe("");
    // Longer than whoever keeps or collects them takes to look again.
    await new Promise((resolve) => setTimeout(resolve, 6000));
    expect(await kubectl("get pods -o name")).toBe(left);
    await kubectl("delete pods --all");

    const set = `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: next}
spec:
  replicas: 1
  selector: {matchLabels: {app: next}}
  template: {metadata: {labels: {app: next}}, spec: {containers: [{name: main, image: "busybox:1"}]}}
`;
    await kubectl("create -f -", set);
    await expect.poll(async () => kubectl("get pods -o name"), { timeout: 10_000 }).toMatch(/next/);
    await kubectl("delete rs next");
    await expect.poll(async () => kubectl("get pods -o name"), { timeout: 10_000 }).toBe("");
    parts.stop();
    await parts.join();
    http.close();
    await kubectl("delete node keep-1");
  });

  test("deletes an owner after its dependents", async () => {
    const set = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: last}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: "busybox:1"}]}}
`;
    await kubectl("create -f -", set);
    const uid = await kubectl("get ds last -o jsonpath={.metadata.uid}");
    const owner = `{apiVersion: apps/v1, kind: DaemonSet, name: last, uid: ${uid}, blockOwnerDeletion: true}`;
    await kubectl(
      "create -f -",
      bound("first", "n1").replace("name: first", `name: first, ownerReferences: [${owner}]`),
    );
    const deleted = tried("delete ds last --cascade=foreground --timeout=20s");
    const grace = (): Promise<string> => kubectl("get pod first -o jsonpath={.metadata.deletionGracePeriodSeconds}");
    await expect.poll(grace, { timeout: 10_000 }).toBe("30");
    expect(await kubectl("get ds last -o jsonpath={.metadata.finalizers}")).toBe('["foregroundDeletion"]');
    await kubectl("delete pod first --force --grace-period=0");
    expect((await deleted).code).toBe(0);
    expect((await tried("get ds last")).code).toBe(1);
  });

  test("discovers the served resources", async () => {
    const served = rows(await kubectl("api-resources --no-headers"));
    expect(served).toContainEqual(["pods", "po", "v1", "true", "Pod"].map(String));
    expect(served.map(([name]) => name)).toEqual(expect.arrayContaining(["leases", "daemonsets", "endpointslices"]));
    expect(await kubectl("version")).toContain("Server Version: v1.36.");
    expect(await kubectl("explain pod.spec")).toContain("KIND:       Pod");
    expect(await kubectl("explain node.spec.taints")).toMatch(/FIELD: taints <\[\]Taint>.*\n {2}effect\t<string>/s);
    expect(await kubectl("explain ds --recursive")).toMatch(
      /\n {8}containers\t<\[\]Container>\n {10}args\t<\[\]string>\n/,
    );
    expect((await tried("explain pod.spec.chair")).err).toBe('error: field "chair" does not exist\n');
    expect(await kubectl("get --raw /readyz")).toBe("ok");
  });

  test("applies at the server, compares and replaces", async () => {
    const map = (value: string): string =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: side, annotations: {}}\ndata: {key: ${value}}\n`;
    expect(await kubectl("apply --server-side -f -", map("one"))).toBe("configmap/side serverside-applied\n");
    const compared = await tried("diff -f -", map("two"));
    expect(compared.code).toBe(1);
    expect(compared.out).toContain("+  key: two");
    expect(await kubectl("replace -f -", map("three"))).toBe("configmap/side replaced\n");
    expect(await kubectl("create --dry-run=server -f -", map("x").replace("side", "dry"))).toBe(
      "configmap/dry created (server dry run)\n",
    );
    expect((await tried("get configmap dry")).code).toBe(1);
    await kubectl("delete configmap side");
  });

  test("gets a clear error for exec, logs and the like on simulated pods", async () => {
    await kubectl("create -f -", bound("mute", "nowhere"));
    expect((await tried("logs mute")).err).toContain("(NotImplemented): the pods of this embedded site are simulated");
    expect((await tried("exec mute -- ls")).err).toContain("the pods of this embedded site are simulated");
    await kubectl("delete pod mute --force --grace-period=0");
  });
});
