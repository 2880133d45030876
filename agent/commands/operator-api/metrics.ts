import type { Status } from "../../status/schema.ts";
import type { DeskTotals } from "../desk/desk-counts.ts";
import type { Metric, Sample } from "./exposition.ts";

/**
 * The status as metrics, in the base units of Prometheus' conventions: seconds, bytes, ratios. A released name is never
 * removed, and its meaning never changes.
 */
export const metricsOf = (status: Status, counts: DeskTotals): readonly Metric[] => [
  ...ofProcess(status),
  ...ofLeadership(status),
  ...ofLinks(status),
  ...ofSite(status),
  ...ofBoard(status),
  ...ofCommands(counts),
];

const one = (value: number | undefined): readonly Sample[] => (value === undefined ? [] : [{ value }]);
const seconds = (millis: number | undefined): number | undefined => (millis === undefined ? undefined : millis / 1000);
const yes = (holds: boolean): number => (holds ? 1 : 0);

const gauge = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  name: `siteward_${name}`,
  help,
  type: "gauge",
  samples,
});

const counter = (name: string, help: string, samples: readonly Sample[]): Metric => ({
  name: `siteward_${name}_total`,
  help,
  type: "counter",
  samples,
});

function ofProcess({ version, startedAt, health, clock, memory, journal, config, writeFailures }: Status): Metric[] {
  const conditions = new Map<string, { readonly labels: Record<string, string>; value: number }>();
  for (const { type, severity } of health.conditions) {
    const found = conditions.get(type) ?? { labels: { type, severity }, value: 0 };
    found.value++;
    conditions.set(type, found);
  }
  const levels = ["ok", "degraded", "critical"] as const;
  return [
    gauge("build_info", "The version of the agent.", [{ labels: { version }, value: 1 }]),
    gauge("start_time_seconds", "When the agent started, in seconds since 1970.", one(Date.parse(startedAt) / 1000)),
    gauge(
      "health",
      "1 for the agent's current health level.",
      levels.map((level) => ({ labels: { level }, value: yes(health.level === level) })),
    ),
    gauge(
      "ready",
      "1 while the API server responds, the site has a leader and, if this board leads, all watches are live.",
      one(yes(health.ready)),
    ),
    gauge("conditions", "Active problems, by type and severity.", [...conditions.values()]),
    gauge("clock_synced", "1 while the board's clock is synchronised.", one(clock && yes(clock.state === "synced"))),
    gauge("api_clock_skew_seconds", "The API server's clock minus the board's clock.", one(seconds(clock?.apiSkewMs))),
    gauge("memory_resident_bytes", "Resident memory of the agent.", one(memory?.rssBytes)),
    gauge(
      "memory_anonymous_bytes",
      "Resident memory of the agent that is not backed by a file.",
      one(memory?.anonymousBytes),
    ),
    gauge("memory_peak_bytes", "Peak resident memory of the agent.", one(memory?.peakBytes)),
    gauge("memory_heap_bytes", "Memory used by JavaScript objects.", one(memory?.heapUsedBytes)),
    gauge("database_bytes", "Size of the cache of the site's objects.", one(journal?.dbBytes)),
    gauge("database_wal_bytes", "Size of the cache's write-ahead log.", one(journal?.walBytes)),
    gauge("journal_rows", "Changes received but not applied yet.", one(journal?.depth)),
    gauge("config_desired_version", "Version of the desired fleet settings.", one(config?.desiredVersion)),
    gauge("config_applied_version", "Version of the fleet settings in force.", one(config?.appliedVersion)),
    counter("status_write_failures", "Failed writes of the status file.", one(writeFailures)),
  ];
}

function ofLeadership({ leader, holds }: Status): Metric[] {
  return [
    gauge("leader", "1 while this board leads the site.", one(leader && yes(leader.role === "leader"))),
    gauge("leader_known", "1 while a leader of the site is known.", one(leader && yes(leader.holder !== undefined))),
    gauge("term", "The number of the site's current term.", one(leader?.term)),
    gauge("lease_age_seconds", "Time since the site's Lease was last seen renewed.", one(seconds(leader?.leaseAgeMs))),
    gauge("lease_duration_seconds", "Duration of the site's Lease.", one(seconds(leader?.leaseDurationMs))),
    gauge(
      "lease_renew_p95_seconds",
      "95th percentile of the time a Lease renewal takes.",
      one(seconds(leader?.renewP95Ms)),
    ),
    gauge("lease_missed_renewals", "Consecutive failed attempts to renew the Lease.", one(leader?.missedRenewals)),
    gauge("freezes", "Freezes in force.", one(holds?.freezes.length)),
    gauge("pauses", "Paused controllers.", one(holds?.pauses.length)),
  ];
}

function ofLinks({ link, watches = [], traffic = [] }: Status): Metric[] {
  const { api, mqtt } = link ?? {};
  const byResource = (value: (watch: (typeof watches)[number]) => number): readonly Sample[] =>
    watches.map((watch) => ({ labels: { resource: watch.resource }, value: value(watch) }));
  const byRequest = (value: (one: (typeof traffic)[number]) => number): readonly Sample[] =>
    traffic.map((entry) => ({ labels: { resource: entry.resource, verb: entry.verb }, value: value(entry) }));
  const outbox = mqtt ? (["state", "response", "event"] as const) : [];
  return [
    gauge("api_up", "1 while the API server responds.", one(api && yes(api.state === "up"))),
    gauge(
      "api_round_trip_p95_seconds",
      "95th percentile of the time a request to the API server takes.",
      one(seconds(api?.rttP95Ms)),
    ),
    gauge(
      "api_failed_requests_last_hour",
      "Requests to the API server in the last hour that got no response.",
      one(api?.failed1h),
    ),
    counter(
      "api_outages",
      "Outages of the link to the API server, as observed by this board.",
      one(api && (api.lastOutage?.number ?? 0)),
    ),
    counter(
      "api_requests",
      "Requests to the API server.",
      byRequest(({ requests }) => requests),
    ),
    counter(
      "api_sent_bytes",
      "Bytes sent to the API server.",
      byRequest(({ sentBytes }) => sentBytes),
    ),
    counter(
      "api_received_bytes",
      "Bytes received from the API server.",
      byRequest(({ receivedBytes }) => receivedBytes),
    ),
    gauge(
      "watch_live",
      "1 while the watch is open and has received an event or bookmark recently.",
      byResource(({ state }) => yes(state === "live")),
    ),
    gauge(
      "watch_objects",
      "Objects of the resource in the cache.",
      byResource(({ objects }) => objects),
    ),
    counter(
      "watch_restarts",
      "Times a watch of the resource was opened.",
      byResource(({ restarts }) => restarts),
    ),
    counter(
      "watch_lists",
      "Times the resource was listed.",
      byResource(({ lists }) => lists),
    ),
    counter(
      "watch_rejected",
      "Objects rejected because they could not be read.",
      byResource(({ rejected }) => rejected),
    ),
    gauge("mqtt_up", "1 while the link to the fleet is up.", one(mqtt && yes(mqtt.state === "up"))),
    gauge(
      "mqtt_session",
      "Number of the current connection to the fleet, counted across all restarts of the board.",
      one(mqtt?.session),
    ),
    gauge(
      "mqtt_round_trip_seconds",
      "Time between the latest message and its acknowledgement.",
      one(seconds(mqtt?.rttMs)),
    ),
    gauge(
      "outbox_messages",
      "Messages waiting for the fleet.",
      outbox.map((kind) => ({ labels: { class: kind }, value: mqtt?.outbox[kind] ?? 0 })),
    ),
    gauge("outbox_oldest_seconds", "Age of the oldest waiting message.", one(seconds(mqtt?.outbox.oldestMs))),
    counter(
      "outbox_dropped",
      "Messages to the fleet that were dropped because there was no room, they expired, or the broker did not accept them.",
      one(mqtt?.dropped),
    ),
  ];
}

const controllerStates = ["running", "standby", "off", "failing", "paused", "shadow"] as const;

function ofSite({ zones = [], boards, eviction, controllers = [], holds }: Status): Metric[] {
  const valve = eviction?.valve;
  const byZone = (value: (zone: (typeof zones)[number]) => number): readonly Sample[] =>
    zones.map((zone) => ({ labels: { zone: zone.name }, value: value(zone) }));
  const byController = (value: (one: (typeof controllers)[number]) => number | undefined): readonly Sample[] =>
    controllers.flatMap((entry) =>
      one(value(entry)).map((sample) => ({ ...sample, labels: { controller: entry.name } })),
    );
  return [
    gauge(
      "zone_nodes",
      "Boards of a zone.",
      byZone(({ nodes }) => nodes),
    ),
    gauge(
      "zone_ready_nodes",
      "Boards of a zone that are ready.",
      byZone(({ ready }) => ready),
    ),
    gauge(
      "zone_evictions_per_second",
      "Rate at which boards of the zone may be evicted; 0 while the zone is frozen.",
      byZone(({ rate }) => rate),
    ),
    gauge("eviction_queue", "Boards waiting for eviction.", one(eviction?.queue)),
    gauge("eviction_pending", "Pods whose toleration time is running.", one(eviction?.pending)),
    gauge(
      "eviction_due",
      "Pods whose toleration time has expired but which still exist, because their eviction is held or in progress.",
      one(eviction?.due),
    ),
    gauge(
      "eviction_queue_held",
      "Boards waiting for eviction whose eviction is currently held (quarantine, freeze or quiet hours).",
      one(eviction?.queueHeld),
    ),
    gauge(
      "pods_evicted_last_hour",
      "Pods that this board evicted in the last hour, without those that no kubelet had started.",
      one(eviction?.evicted1h),
    ),
    counter(
      "acts",
      "Acts that can interrupt services (taints, deletions of pods, removals of endpoints), by kind.",
      (eviction?.acts ?? []).map(({ act, total }) => ({ labels: { act }, value: total })),
    ),
    counter(
      "acts_held",
      "Acts that can interrupt services and have been held back, by reason.",
      (eviction?.heldActs ?? []).map(({ why, total }) => ({ labels: { why }, value: total })),
    ),
    gauge(
      "acts_held_now",
      "Acts that can interrupt services and are currently held back, by reason.",
      (eviction?.heldActs ?? []).map(({ why, now }) => ({ labels: { why }, value: now })),
    ),
    gauge(
      "valve_acts",
      "Harmful acts of all leaders in the last hour, as the safety valve counts them.",
      one(valve?.acts),
    ),
    gauge("valve_acts_limit", "Harmful acts that the safety valve permits in an hour.", one(valve?.limit)),
    gauge("valve_boards", "Boards that are tainted because they are silent.", one(valve?.boards)),
    gauge(
      "valve_boards_limit",
      "Boards that the safety valve permits to be tainted at the same time.",
      one(valve?.mostBoards),
    ),
    gauge(
      "valve_shut",
      "1 while the safety valve holds harmful acts.",
      one(valve && yes(valve.heldSince !== undefined)),
    ),
    gauge(
      "valve_released",
      "1 while an operator has released the safety valve.",
      one(valve && yes(holds?.release !== undefined)),
    ),
    gauge(
      "boards_away",
      "Boards that are out of use: lost, cut-off (silent but known to run), off (cordoned and silent) or not-ready.",
      boards
        ? [
            { labels: { state: "lost" }, value: boards.lost.count },
            { labels: { state: "cut-off" }, value: boards.cutOff?.count ?? 0 },
            { labels: { state: "off" }, value: boards.off.count },
            { labels: { state: "not-ready" }, value: boards.notReady.count },
          ]
        : [],
    ),
    gauge(
      "boards_tainted",
      "Boards with the NoExecute taint of a silent or not ready board, set by any program.",
      one(boards?.tainted),
    ),
    gauge(
      "eviction_held",
      "1 while tainting of silent boards is suspended for the whole site: in a quarantine after an outage, a freeze of the site, or quiet hours.",
      one(eviction && yes(isHeld(eviction, holds))),
    ),
    gauge(
      "controller_state",
      "1 for the controller's current state.",
      controllers.flatMap(({ name, state }) =>
        controllerStates.map((each) => ({ labels: { controller: name, state: each }, value: yes(each === state) })),
      ),
    ),
    gauge(
      "controller_queue",
      "Keys waiting in the controller's queue.",
      byController(({ queue }) => queue),
    ),
    gauge(
      "controller_sync_p95_seconds",
      "95th percentile of the time a pass takes.",
      byController(({ syncP95Ms }) => seconds(syncP95Ms)),
    ),
    gauge(
      "controller_errors_last_hour",
      "Failed passes in the last hour.",
      byController(({ errors1h }) => errors1h),
    ),
  ];
}

/** Whether evictions from all silent boards of the site are held. */
const isHeld = ({ held, frozen = [] }: NonNullable<Status["eviction"]>, holds: Status["holds"]): boolean =>
  held !== undefined || holds?.quietUntil !== undefined || frozen.some(({ scope }) => scope === "site");

function ofBoard({ board, journal }: Status): Metric[] {
  const { throttled, storage } = board ?? {};
  const causes = [...new Set([...(throttled?.now ?? []), ...(throttled?.sinceBoot ?? [])])].sort();
  return [
    gauge(
      "board_temperature_celsius",
      "Temperature of the sensor to which the board's limits apply.",
      one(board?.tempC),
    ),
    gauge(
      "board_throttled",
      "1 while this cause throttles the board.",
      causes.map((cause) => ({ labels: { cause }, value: yes(throttled?.now.includes(cause) ?? false) })),
    ),
    gauge(
      "board_power_watts",
      "Power measured on a rail of the board's power monitor.",
      (board?.rails ?? []).map(({ label, milliwatts }) => ({ labels: { rail: label }, value: milliwatts / 1000 })),
    ),
    gauge("board_load1", "Load average of the last minute.", one(board?.loadavg1)),
    gauge("storage_free_bytes", "Free bytes on the file system of the state folder.", one(storage?.freeBytes)),
    gauge("storage_wear_ratio", "Used share of the storage's expected life.", one(storage?.wear)),
    gauge("storage_read_only", "1 while the state folder cannot be written.", one(storage && yes(storage.readOnly))),
    gauge(
      "storage_written_last_day_bytes",
      "Bytes that the agent wrote to storage in the last day, or since its start if that is later.",
      one(journal?.writtenBytes24h),
    ),
    gauge(
      "state_volatile",
      "1 if the state folder does not survive a power cut.",
      one(journal?.persistence && yes(journal.persistence === "volatile")),
    ),
  ];
}

function ofCommands({ rejected, answered, replayed }: DeskTotals): Metric[] {
  return [
    counter(
      "cmd_ended",
      "Finished commands, by name and final state; rehearsed: a dry run that succeeded.",
      answered.map(({ name, state, count }) => ({ labels: { name, state }, value: count })),
    ),
    counter(
      "cmd_rejected",
      "Commands that did not succeed, by code and error; with code 0, no answer could be sent.",
      rejected.map(({ code, error, count }) => ({ labels: { code, error }, value: count })),
    ),
    counter("cmd_replayed", "Redelivered commands answered with the stored response.", one(replayed)),
  ];
}
