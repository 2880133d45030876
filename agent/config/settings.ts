import { quietHoursSettings, sensorSettings, upkeepSettings } from "./board-settings.ts";
import { commandSettings } from "./command-settings.ts";
import { identityName } from "./identity-name.ts";
import { memorySettings } from "./memory-settings.ts";
import { mqttSettings, remoteSettings } from "./mqtt-settings.ts";
import {
  bytes,
  choice,
  derived,
  duration,
  flag,
  type Infer,
  integer,
  number,
  optional,
  path,
  perSecond,
  section,
  text,
  url,
} from "./schema.ts";

const objectName = {
  pattern: /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/,
  accepts: "a Kubernetes name: small letters, digits, dashes and dots",
};

const namespaceName = {
  pattern: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
  accepts: "a namespace: small letters, digits and dashes",
};

const namespaceNames = {
  pattern: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?( *, *[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/,
  accepts: 'namespaces with commas between them, such as "plant-north, plant-south"',
};

const labelKey = "([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?";
const labelValue = "[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?";
/** Spaces can match behind each part only: a text that does not fit fails without much backtracking. */
const requirement = `(!?${labelKey} *|${labelKey} *(=|==|!=) *(${labelValue} *)?|${labelKey} +(in|notin) +\\([^()]*\\) *)`;

const labelSelector = {
  pattern: new RegExp(`^ *${requirement}(, *${requirement})*$`),
  accepts: "a label selector such as topology.kubernetes.io/region=east",
  longest: 1024,
};

const modeOf = (controller: string) =>
  choice(["act", "off"], "act", `Whether the ${controller} controller runs while this board leads.`);

/** Every setting once. Types, defaults, checks, reference, JSON schema and example are made from this list. */
export const settings = section("Configuration of the siteward agent.", {
  site: section("Which boards and namespaces belong to the site that this board belongs to.", {
    name: text("default", "The site's name; its boards share the Lease siteward-<name>.", identityName),
    nodeSelector: optional(
      text("", "Label selector of the site's Nodes.", labelSelector),
      "the whole cluster is the site",
    ),
    namespaceSelector: optional(
      text("", "Label selector of the namespaces that belong to this site alone.", labelSelector),
      "every namespace while the whole cluster is the site, and none with a nodeSelector",
    ),
  }),
  board: section("Who this board is, and when it is unwell.", {
    name: derived(text("", "The board's name.", identityName), "the host's name"),
    node: derived(text("", "The name of the board's Node.", objectName), "the board's name"),
    ...sensorSettings,
  }),
  api: section("How the site's API server is reached.", {
    kubeconfig: optional(
      path("/etc/siteward/kubeconfig", "A kubeconfig file."),
      "KUBECONFIG; inside a pod its service account; ~/.kube/config",
    ),
    context: optional(
      text("", "The context of the kubeconfig.", { pattern: /^\S+$/, accepts: "the name of a context" }),
      "its current context",
    ),
    proxy: optional(
      url("The HTTP proxy on the way to the API server.", {
        pattern: /^https?:\/\/[^/\s]+\/?$/,
        accepts: "a URL such as http://proxy:3128",
      }),
      "HTTPS_PROXY and NO_PROXY",
    ),
  }),
  client: section("How much is asked of the API server.", {
    qps: perSecond(20, "Requests per second, on average.", { min: 0.1, max: 10_000 }),
    burst: integer(30, "Requests that may be sent at once after a quiet time.", { min: 1, max: 10_000 }),
    inflight: integer(16, "Writes that may wait for their answer at the same time.", { min: 1, max: 256 }),
    timeouts: section("How long the API server may be silent before a request is given up.", {
      read: duration("30s", "For the answer to a read of one object.", { min: "1s", max: "10m" }),
      list: duration("30s", "Until a list begins, and between its pieces.", { min: "1s", max: "10m" }),
      watch: duration("30s", "Until a watch begins.", { min: "1s", max: "10m" }),
      write: duration("30s", "For the answer to a write.", { min: "1s", max: "10m" }),
    }),
  }),
  link: section("When the link to the API server counts as live.", {
    watchStall: duration("90s", "A watch that says nothing for so long is not trusted, and opened again.", {
      min: "1s",
      max: "1h",
    }),
    blip: duration("10s", "An interruption up to here is no outage.", { min: "0s", max: "1h" }),
    heartbeats: choice(
      ["watch", "list"],
      "watch",
      "How the boards' heartbeats reach the leader: each at once, or by a list every 20s, which is half the bytes.",
    ),
  }),
  leader: section("The election of the board that leads the site.", {
    namespace: text("kube-system", "The namespace of the site's Lease.", namespaceName),
    otherNamespaces: optional(
      text("", "Further namespaces where sites keep their Leases; no tenant may write Leases there.", namespaceNames),
      "none, and a Lease elsewhere claims nothing",
    ),
    duration: duration("60s", "How long a leader is believed after its last renewal; whole seconds.", {
      min: "1s",
      max: "1h",
    }),
    renewDeadline: duration("40s", "How long a leader tries to renew before it steps down.", {
      min: "500ms",
      max: "1h",
    }),
    retry: duration("10s", "The pause between two attempts.", { min: "100ms", max: "10m" }),
    sickFor: duration("60s", "A leader that is unwell for so long steps down where another board stands by.", {
      min: "1s",
      max: "1d",
    }),
    followers: choice(
      ["expiry", "poll"],
      "expiry",
      "When followers look at the Lease: when the observed term would end, or at every retry as client-go does.",
    ),
  }),
  standby: choice(
    ["cold", "warm"],
    "cold",
    "What a board that does not lead keeps up to date: nothing but its cache on disk (cold), or its watches (warm).",
  ),
  judgement: section("How the leader judges boards that fall silent.", {
    policy: choice(
      ["evidence", "kubernetes"],
      "evidence",
      "Harmful acts only with evidence, or the rules of kube-controller-manager to the letter.",
    ),
    recovery: duration("10m", "After an outage of the link, evictions go at the secondary rate for so long.", {
      min: "0s",
      max: "1d",
    }),
  }),
  nodeLifecycle: section("When a board counts as lost, and how fast its pods are given up.", {
    monitorPeriod: duration("5s", "How often the boards are judged.", { min: "100ms", max: "10m" }),
    gracePeriod: duration("50s", "How long a board may stay silent before it counts as lost.", {
      min: "1s",
      max: "1d",
    }),
    startupGracePeriod: duration("60s", "The same for a board that has just appeared.", { min: "1s", max: "1d" }),
    evictionRate: perSecond(0.1, "Boards per second that may be evicted in a healthy zone.", { min: 0, max: 1000 }),
    secondaryRate: perSecond(0.01, "The same in a large zone that is partly disrupted.", { min: 0, max: 1000 }),
    largeZone: integer(50, "A zone with more boards than this is large; in a smaller one evictions stop.", {
      min: 0,
      max: 100_000,
    }),
    unhealthyZone: number(0.55, "The share of lost boards from which on a zone is partly disrupted.", {
      min: 0,
      max: 1,
    }),
  }),
  taintEviction: section("How pods leave a board that carries a NoExecute taint.", {
    workers: integer(8, "Deletions of pods that may be under way at the same time.", { min: 1, max: 100 }),
  }),
  podGC: section("Pods that are of no use any more.", {
    terminatedThreshold: integer(
      12_500,
      "How many pods that have run to their end are kept; 0: all of them. A small site is well served with 100.",
      { min: 0, max: 1_000_000 },
    ),
  }),
  daemonSet: section("Daemon pods.", {
    workers: integer(2, "DaemonSets that may be worked on at the same time.", { min: 1, max: 100 }),
    bind: flag(
      false,
      "Whether the leader binds daemon pods to their boards itself, if they fit: for sites without a kube-scheduler.",
    ),
  }),
  endpoints: section("The addresses behind services.", {
    workers: integer(5, "Services that may be worked on at the same time, by each controller of them.", {
      min: 1,
      max: 100,
    }),
    batch: duration("0s", "How long changes of pods are gathered before a service is looked at: saves writes.", {
      min: "0s",
      max: "1h",
    }),
    perSlice: integer(100, "Addresses in one EndpointSlice.", { min: 1, max: 1000 }),
    perMirroredSubset: integer(1000, "Addresses of one subset of Endpoints that are repeated as EndpointSlices.", {
      min: 1,
      max: 1000,
    }),
  }),
  controllers: section("Which controllers run.", {
    nodeLifecycle: section("Judges boards and taints them.", { mode: modeOf("node lifecycle") }),
    taintEviction: section("Deletes pods that do not tolerate the taints of their board.", {
      mode: modeOf("taint eviction"),
    }),
    podGC: section("Deletes pods that have run to their end, or whose board is gone.", { mode: modeOf("pod GC") }),
    daemonSet: section("Keeps one pod of each DaemonSet on every board that is eligible.", {
      mode: modeOf("DaemonSet"),
    }),
    endpoints: section("Keeps Endpoints: the addresses of a service's pods, in one object.", {
      mode: modeOf("Endpoints"),
    }),
    endpointSlice: section("Keeps EndpointSlices: the addresses of a service's pods, in portions.", {
      mode: modeOf("EndpointSlice"),
    }),
    endpointSliceMirroring: section("Repeats Endpoints that were made by hand as EndpointSlices.", {
      mode: modeOf("EndpointSlice mirroring"),
    }),
  }),
  cache: section("The copy of the site's objects in cache.db.", {
    decodedBytes: bytes("4MiB", "Decoded objects kept in memory: less saves memory, more saves CPU.", {
      min: "64KiB",
      max: "1GiB",
    }),
    pageSize: integer(500, "Objects on one page of a list.", { min: 1, max: 5000 }),
    deltasPerObject: integer(16, "Deltas of one object that the journal keeps before it merges them.", {
      min: 2,
      max: 1000,
    }),
    sqlite: section("SQLite's own settings.", {
      cacheKiB: integer(512, "Pages that SQLite keeps in memory, in KiB.", { min: 64, max: 1_048_576 }),
      mmapMiB: integer(0, "How much of the file is mapped into memory, in MiB.", { min: 0, max: 4096 }),
      walAutocheckpointPages: integer(2000, "Pages in the write-ahead log before it is written back.", {
        min: 10,
        max: 100_000,
      }),
      journalSizeLimitKiB: integer(4096, "The size to which the write-ahead log is cut back, in KiB.", {
        min: 64,
        max: 1_048_576,
      }),
    }),
  }),
  state: section("What must survive a restart.", {
    folder: path("/var/lib/siteward", "The folder of state.db and cache.db."),
  }),
  run: section("What need not survive a restart.", {
    folder: path("/run/siteward", "The folder of status.json, best on a tmpfs."),
  }),
  log: section("What the agent says on standard output.", {
    level: choice(["error", "warn", "info", "debug"], "info", "The least important lines that are written."),
    format: choice(
      ["auto", "json", "text"],
      "auto",
      "JSON lines, readable lines, or what fits where they go: fields for the journal, JSON for a file.",
    ),
  }),
  status: section("How often status.json is written.", {
    minInterval: duration("10s", "At most this often, when something changed.", { min: "100ms", max: "10m" }),
    every: duration("30s", "At least this often.", { min: "1s", max: "1h" }),
  }),
  memory: memorySettings,
  upkeep: upkeepSettings,
  quietHours: quietHoursSettings,
  mqtt: mqttSettings,
  remote: remoteSettings,
  commands: commandSettings,
});

export type Config = Infer<typeof settings>;
