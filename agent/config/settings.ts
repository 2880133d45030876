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
  accepts: "a Kubernetes name: lowercase letters, digits, dashes and dots",
};

const namespaceName = {
  pattern: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
  accepts: "a namespace: lowercase letters, digits and dashes",
};

const namespaceNames = {
  pattern: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?( *, *[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/,
  accepts: 'namespaces with commas between them, such as "plant-north, plant-south"',
};

const labelKey = "([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?";
const labelValue = "[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?";
/** Spaces can match only after each part, so that a text that does not match fails without much backtracking. */
const requirement = `(!?${labelKey} *|${labelKey} *(=|==|!=) *(${labelValue} *)?|${labelKey} +(in|notin) +\\([^()]*\\) *)`;

const labelSelector = {
  pattern: new RegExp(`^ *${requirement}(, *${requirement})*$`),
  accepts: "a label selector such as topology.kubernetes.io/region=east",
  longest: 1024,
};

const modeOf = (controller: string) =>
  choice(["act", "off"], "act", `Whether the ${controller} controller runs while this board leads.`);

const judgingModeOf = (controller: string) =>
  choice(
    ["act", "shadow", "off"],
    "act",
    `What the ${controller} controller does while this board leads; shadow: it decides and records, and writes nothing.`,
  );

/** All settings. Types, defaults, checks, reference, JSON Schema and example file are derived from this list. */
export const settings = section("Configuration of the siteward agent.", {
  site: section("This board's site: its name, its boards and its namespaces.", {
    name: text("default", "The site's name; its boards share the Lease siteward-<name>.", identityName),
    nodeSelector: optional(
      text("", "Label selector of the site's Nodes.", labelSelector),
      "the whole cluster is the site",
    ),
    namespaceSelector: optional(
      text("", "Label selector of the namespaces that belong to this site alone.", labelSelector),
      "all namespaces if the site is the whole cluster; none if a nodeSelector is set",
    ),
  }),
  board: section("This board's names, its sensors, and the limits beyond which it is unwell.", {
    name: derived(text("", "The board's name.", identityName), "the host's name"),
    node: derived(text("", "The name of the board's Node.", objectName), "the board's name"),
    ...sensorSettings,
  }),
  api: section("How the site's API server is reached.", {
    kubeconfig: optional(
      path("/etc/siteward/kubeconfig", "A kubeconfig file."),
      "KUBECONFIG; in a pod, its service account; ~/.kube/config",
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
  client: section("Limits for requests to the API server.", {
    qps: perSecond(20, "Maximum number of requests per second, on average.", { min: 0.1, max: 10_000 }),
    burst: integer(30, "Maximum burst of requests after an idle period.", { min: 1, max: 10_000 }),
    inflight: integer(16, "Maximum number of writes in flight at the same time.", { min: 1, max: 256 }),
    timeouts: section("How long to wait for the API server before a request fails.", {
      read: duration("30s", "For the whole response to a read of one object.", { min: "1s", max: "10m" }),
      list: duration("30s", "For the start of a list response and for each following chunk.", {
        min: "1s",
        max: "10m",
      }),
      watch: duration("30s", "For the start of a watch response.", { min: "1s", max: "10m" }),
      write: duration("30s", "For the whole response to a write.", { min: "1s", max: "10m" }),
    }),
  }),
  link: section("When the link to the API server counts as live.", {
    watchStall: duration("90s", "A watch without events or bookmarks for this long is stale and is reopened.", {
      min: "1s",
      max: "1h",
    }),
    blip: duration("10s", "An interruption up to this long does not count as an outage.", { min: "0s", max: "1h" }),
    heartbeats: choice(
      ["watch", "list"],
      "watch",
      "How the leader receives the boards' heartbeats: by a watch, or by a list every 20s, which takes half the traffic.",
    ),
  }),
  leader: section("The election of the board that leads the site.", {
    namespace: text("kube-system", "The namespace of the site's Lease.", namespaceName),
    otherNamespaces: optional(
      text(
        "",
        "Additional namespaces in which sites keep their Leases; tenants must not be able to write Leases there.",
        namespaceNames,
      ),
      "none; Leases in other namespaces claim nothing",
    ),
    duration: duration("60s", "How long followers wait after a leader's last renewal; in whole seconds.", {
      min: "1s",
      max: "1h",
    }),
    renewDeadline: duration("40s", "A leader steps down if it has been unable to renew its Lease for this long.", {
      min: "500ms",
      max: "1h",
    }),
    retry: duration("10s", "The pause between two renewals, or two attempts to lead.", { min: "100ms", max: "10m" }),
    sickFor: duration("60s", "An unwell leader steps down after this time if another board is ready to lead.", {
      min: "1s",
      max: "1d",
    }),
    followers: choice(
      ["expiry", "poll"],
      "expiry",
      "When followers read the Lease: when the observed term would end, or at every retry as client-go does.",
    ),
  }),
  standby: choice(
    ["cold", "warm"],
    "cold",
    "Whether a board that does not lead keeps its cache current with watches (warm) or not (cold).",
  ),
  judgement: section("How the leader judges boards that fall silent.", {
    policy: choice(
      ["evidence", "kubernetes"],
      "evidence",
      "evidence: harmful acts need proof that a board is lost; kubernetes: exactly the rules of kube-controller-manager.",
    ),
    compare: choice(
      ["off", "kubernetes"],
      "off",
      "kubernetes: the leader also decides by policy kubernetes, and records what it would have done; siteward shadow report lists the differences.",
    ),
    recovery: duration("10m", "How long evictions proceed at the secondary rate after an outage of the link.", {
      min: "0s",
      max: "1d",
    }),
    witness: choice(
      ["lan", "off"],
      "lan",
      "lan: the leader queries silent boards over the LAN, and this board answers such queries. Only used with policy evidence.",
    ),
    witnessPort: integer(10270, "The UDP port on which this board answers; other boards read it from its Node.", {
      min: 1,
      max: 65_535,
    }),
    unprovenHold: duration(
      "15m",
      "How long pods stay on a silent board if other boards answer this leader on the LAN, but nothing shows whether that board runs.",
      { min: "0s", max: "30d" },
    ),
    zoneHold: duration(
      "15m",
      "How long pods stay in a zone in which several boards were lost together and no other one gives a sign of life.",
      { min: "0s", max: "30d" },
    ),
    unmanagedHold: duration("15m", "How long pods stay on a board that answers, but whose kubelet is not running.", {
      min: "0s",
      max: "30d",
    }),
  }),
  safety: section("The safety valve of policy evidence: how many harmful acts it permits without an operator.", {
    maxHarmPerHour: optional(
      integer(10, "Maximum number of harmful acts in an hour: taints of boards and deletions of pods.", {
        min: 0,
        max: 1_000_000,
      }),
      "10, or a fifth of the site's pods if that is more",
    ),
    maxBoards: optional(
      integer(1, "Maximum number of boards that are tainted at the same time because they are silent.", {
        min: 0,
        max: 100_000,
      }),
      "half of the site's boards, but at least one",
    ),
  }),
  nodeLifecycle: section("When a board counts as lost, and how fast pods are evicted.", {
    monitorPeriod: duration("5s", "Interval between checks of the boards' health.", { min: "100ms", max: "10m" }),
    gracePeriod: duration("50s", "How long a board may stay silent before it counts as lost.", {
      min: "1s",
      max: "1d",
    }),
    startupGracePeriod: duration("60s", "The grace period for a board that has just appeared.", {
      min: "1s",
      max: "1d",
    }),
    evictionRate: perSecond(0.1, "Boards per second that may be evicted in a healthy zone.", { min: 0, max: 1000 }),
    secondaryRate: perSecond(0.01, "Boards per second that may be evicted in a large zone that is partly disrupted.", {
      min: 0,
      max: 1000,
    }),
    largeZone: integer(
      50,
      "A zone with more boards is large. In a smaller one that is partly disrupted, evictions stop.",
      {
        min: 0,
        max: 100_000,
      },
    ),
    unhealthyZone: number(0.55, "The share of lost boards at which a zone is partly disrupted.", {
      min: 0,
      max: 1,
    }),
  }),
  taintEviction: section("How pods are removed from a board that carries a NoExecute taint.", {
    workers: integer(8, "Maximum number of pods deleted at the same time.", { min: 1, max: 100 }),
  }),
  podGC: section("The garbage collection of pods.", {
    terminatedThreshold: integer(
      12_500,
      "How many terminated pods are kept; 0 keeps all of them. 100 suits a small site.",
      {
        min: 0,
        max: 1_000_000,
      },
    ),
  }),
  daemonSet: section("The pods of DaemonSets.", {
    workers: integer(2, "Maximum number of DaemonSets processed at the same time.", { min: 1, max: 100 }),
    bind: flag(
      false,
      "Whether the leader itself binds daemon pods to their boards if they fit; for sites without a kube-scheduler.",
    ),
  }),
  endpoints: section("Endpoints and EndpointSlices, the addresses behind Services.", {
    workers: integer(5, "Maximum number of Services that each of these controllers processes at the same time.", {
      min: 1,
      max: 100,
    }),
    batch: duration("0s", "How long changes of pods are collected before a Service is processed, to save writes.", {
      min: "0s",
      max: "1h",
    }),
    perSlice: integer(100, "Maximum number of addresses in one EndpointSlice.", { min: 1, max: 1000 }),
    perMirroredSubset: integer(1000, "Maximum number of addresses mirrored from one subset of Endpoints.", {
      min: 1,
      max: 1000,
    }),
  }),
  controllers: section("Which controllers run.", {
    nodeLifecycle: section("Judges boards and taints them.", { mode: judgingModeOf("node lifecycle") }),
    taintEviction: section("Deletes pods that do not tolerate the taints of their board.", {
      mode: judgingModeOf("taint eviction"),
    }),
    podGC: section("Deletes pods that have terminated, or whose board no longer exists.", {
      mode: judgingModeOf("pod GC"),
    }),
    daemonSet: section("Keeps one pod of each DaemonSet on every board that is eligible.", {
      mode: modeOf("DaemonSet"),
    }),
    endpoints: section("Maintains Endpoints: the addresses of a Service's pods, in one object.", {
      mode: modeOf("Endpoints"),
    }),
    endpointSlice: section("Maintains EndpointSlices: the addresses of a Service's pods, in several objects.", {
      mode: modeOf("EndpointSlice"),
    }),
    endpointSliceMirroring: section("Mirrors Endpoints that users created to EndpointSlices.", {
      mode: modeOf("EndpointSlice mirroring"),
    }),
  }),
  cache: section("The copy of the site's objects in cache.db.", {
    decodedBytes: bytes("4MiB", "Size of the decoded objects kept in memory. Less saves memory, more saves CPU.", {
      min: "64KiB",
      max: "1GiB",
    }),
    pageSize: integer(500, "Number of objects on one page of a list.", { min: 1, max: 5000 }),
    deltasPerObject: integer(16, "Maximum number of an object's deltas in the journal before they are merged.", {
      min: 2,
      max: 1000,
    }),
    sqlite: section("Settings of SQLite.", {
      cacheKiB: integer(512, "Size of SQLite's page cache, in KiB.", { min: 64, max: 1_048_576 }),
      mmapMiB: integer(0, "Maximum size of the memory map of the database file, in MiB; 0 turns it off.", {
        min: 0,
        max: 4096,
      }),
      walAutocheckpointPages: integer(2000, "Number of pages in the write-ahead log that triggers a checkpoint.", {
        min: 10,
        max: 100_000,
      }),
      journalSizeLimitKiB: integer(4096, "The size to which a checkpoint truncates the write-ahead log, in KiB.", {
        min: 64,
        max: 1_048_576,
      }),
    }),
  }),
  state: section("Data that must survive a restart.", {
    folder: path("/var/lib/siteward", "The folder of state.db and cache.db."),
  }),
  run: section("Data that need not survive a restart.", {
    folder: path("/run/siteward", "The folder of status.json, best on a tmpfs."),
  }),
  log: section("The agent's log.", {
    level: choice(["error", "warn", "info", "debug"], "info", "The lowest level that is logged."),
    format: choice(
      ["auto", "json", "text"],
      "auto",
      "auto: entries with fields for systemd's journal, readable lines on a terminal, JSON lines otherwise.",
    ),
  }),
  status: section("How often status.json is written.", {
    minInterval: duration(
      "10s",
      "The minimum average interval between writes after changes; short bursts are allowed.",
      {
        min: "100ms",
        max: "10m",
      },
    ),
    every: duration("30s", "The longest interval between two writes.", { min: "1s", max: "1h" }),
  }),
  memory: memorySettings,
  upkeep: upkeepSettings,
  quietHours: quietHoursSettings,
  mqtt: mqttSettings,
  remote: remoteSettings,
  commands: commandSettings,
});

export type Config = Infer<typeof settings>;
