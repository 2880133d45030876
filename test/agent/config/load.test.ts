import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ConfigError } from "../../../agent/base/errors.ts";
import { checkFile, type Loaded, loadConfig, type Sources, variableOf } from "../../../agent/config/load.ts";
import { settings } from "../../../agent/config/settings.ts";
import { settingsIn } from "../../../agent/config/values.ts";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "siteward-config-"));
  file = join(folder, "siteward.yaml");
});

afterEach(() => rmSync(folder, { recursive: true }));

const header = "apiVersion: siteward.dev/v1\nkind: AgentConfiguration\n";
const write = (body: string): void => writeFileSync(file, header + body);
const dropIn = (name: string, body: string): void => {
  mkdirSync(join(folder, "conf.d"), { recursive: true });
  writeFileSync(join(folder, "conf.d", name), header + body);
};

const load = (sources: Partial<Sources> = {}): Loaded =>
  loadConfig({ file, env: {}, hostname: "pi-3", profile: undefined, ...sources });

function problemsOf(work: () => unknown): readonly string[] {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map((problem) => problem.replaceAll(`${folder}/`, ""));
    throw error;
  }
  return [];
}

const problems = (sources: Partial<Sources> = {}): readonly string[] => problemsOf(() => load(sources));

test("without a file the defaults hold, and the board has the host's name in lower case", () => {
  const { config, origins, files } = loadConfig({ file: undefined, env: {}, hostname: "Pi-3", profile: undefined });
  expect(config.nodeLifecycle.gracePeriod).toBe(50_000);
  expect(config.judgement.policy).toBe("evidence");
  expect(config.board).toMatchObject({ name: "pi-3", node: "pi-3" });
  expect(origins.get("board.name")).toBe("host name");
  expect(files).toEqual([]);
});

test("each layer overrides the one before, and every value has its origin", () => {
  write("leader:\n  duration: 30s\n  renewDeadline: 20s\n  retry: 5s\nlog:\n  level: debug\n");
  dropIn("10-first.yaml", "leader:\n  retry: 4s\n  renewDeadline: 19s\n");
  dropIn("20-second.yaml", "leader:\n  retry: 3s\n");
  const { config, origins, files } = load({
    profile: { id: "rpi", settings: { cache: { pageSize: 100 }, leader: { duration: "90s" } } },
    env: { SITEWARD_LOG_LEVEL: "warn", HOME: "/root" },
  });

  expect(config.leader).toMatchObject({ duration: 30_000, renewDeadline: 19_000, retry: 3000 });
  expect(config.cache.pageSize).toBe(100);
  expect(config.log.level).toBe("warn");
  const from = ["leader.duration", "leader.renewDeadline", "leader.retry", "cache.pageSize", "log.level", "log.format"];
  expect(from.map((path) => origins.get(path)?.replace(`${folder}/`, ""))).toEqual([
    "siteward.yaml:4",
    "conf.d/10-first.yaml:5",
    "conf.d/20-second.yaml:4",
    "profile rpi",
    "SITEWARD_LOG_LEVEL",
    "default",
  ]);
  expect(files).toHaveLength(3);
});

test("all problems are reported together, with their lines and the accepted values", () => {
  write(
    [
      "nodeLifecyle:",
      "  gracePeriod: 10s",
      "nodeLifecycle:",
      "  gracePeriod: 40 sec",
      "  evictionRate: fast",
      "  largeZone: 2.5",
      "judgement: {policy: strict}",
      "leader: 5",
      "gracePeriod: 10s",
      "link: {blip: }",
      "",
    ].join("\n"),
  );
  dropIn("10.yaml", "cache: {pageSize: 0, decodedBytes: 8MB}\n");
  expect(problems({ env: { SITEWARD_CLIENT_QPS: "many" } })).toEqual([
    "siteward.yaml:3: nodeLifecyle is not a setting; did you mean nodeLifecycle?",
    'siteward.yaml:6: nodeLifecycle.gracePeriod cannot be "40 sec"; it takes a duration such as 50s, from 1s to 1d',
    'siteward.yaml:7: nodeLifecycle.evictionRate cannot be "fast"; it takes a rate per second, from 0 to 1000',
    "siteward.yaml:8: nodeLifecycle.largeZone cannot be 2.5; it takes a whole number from 0 to 100000",
    'siteward.yaml:9: judgement.policy cannot be "strict"; it takes one of evidence, kubernetes',
    "siteward.yaml:10: leader is a section with namespace, otherNamespaces, duration, renewDeadline, retry, sickFor, followers, not 5",
    "siteward.yaml:11: gracePeriod is not a setting; did you mean nodeLifecycle.gracePeriod?",
    "siteward.yaml:12: link.blip has no value; it takes a duration such as 10s, from 0s to 1h",
    "conf.d/10.yaml:3: cache.pageSize cannot be 0; it takes a whole number from 1 to 5000",
    'conf.d/10.yaml:3: cache.decodedBytes cannot be "8MB"; it takes a size such as 4MiB, from 64KiB to 1GiB',
    'SITEWARD_CLIENT_QPS: client.qps cannot be "many"; it takes a rate per second, from 0.1 to 10000',
  ]);
});

test("a password in a broker's address is refused without being repeated", () => {
  const long = "x".repeat(80);
  for (const secret of ["CANARYa", "CAN/ARYb", "CAN@ARYc", `CANARYd${long}`]) {
    write(`mqtt: {fleet: north, url: "mqtts://board:${secret}@broker:8883"}`);
    const [problem, ...more] = problems({ env: { SITEWARD_MQTT_URL: `mqtts://:${secret}@broker` } });
    expect(problem).toBe(
      'siteward.yaml:3: mqtt.url cannot be "mqtts://[redacted]@broker:8883"; ' +
        "it takes mqtts://host:8883, or mqtt://host:1883 without TLS; no user or password",
    );
    expect(more).toEqual([
      expect.stringContaining('SITEWARD_MQTT_URL: mqtt.url cannot be "mqtts://[redacted]@broker"'),
    ]);
  }
});

test("a value at a bound is accepted, a value beyond it is not", () => {
  const taking = (body: string): number => {
    write(body);
    return problems().length;
  };
  expect(["500", "5000", "5001", "0", "1"].map((size) => taking(`cache: {pageSize: ${size}}\n`))).toEqual([
    0, 0, 1, 1, 0,
  ]);
  expect(["1", "1.01", "0", "-0.01"].map((share) => taking(`nodeLifecycle: {unhealthyZone: ${share}}\n`))).toEqual([
    0, 1, 0, 1,
  ]);
});

test("settings that contradict each other are found after all layers are merged", () => {
  write("leader: {duration: 15s, renewDeadline: 10s}\n");
  expect(problems()).toEqual([
    "default: leader.retry: 10s must be shorter than leader.renewDeadline (10s) divided by 1.2",
  ]);
  dropIn("10.yaml", "leader: {retry: 2s}\n");
  expect(load().config.leader.retry).toBe(2000);

  write("leader: {duration: 10500ms, renewDeadline: 10500ms, retry: 2s}\nstatus: {minInterval: 1m}\n");
  expect(problems()).toEqual([
    "siteward.yaml:3: leader.duration: 10500ms must be in whole seconds, because a Lease stores whole seconds",
    "siteward.yaml:3: leader.renewDeadline: 10500ms must be shorter than leader.duration (10500ms)",
    "siteward.yaml:4: status.minInterval: 1m must not be longer than status.every (30s)",
  ]);
});

test("client-go's own default timing is accepted, and values beyond its edges are not", () => {
  const timing = (renewDeadline: string, retry: string): readonly string[] => {
    write(`leader: {duration: 15s, renewDeadline: ${renewDeadline}, retry: ${retry}}\n`);
    return problems();
  };
  expect(timing("10s", "2s")).toEqual([]);
  expect(timing("14999ms", "2s")).toEqual([]);
  expect(timing("15s", "2s")).toHaveLength(1);
  expect(timing("12s", "10s")).toHaveLength(1);
  expect(timing("12001ms", "10s")).toEqual([]);
});

test("a term too short to be renewed is a conflict with its line, found before the agent starts", () => {
  const timing = (retry: string): readonly string[] => {
    write(`log: {level: debug}\nleader: {duration: 3s, renewDeadline: 2500ms, retry: ${retry}}\n`);
    return problemsOf(() => checkFile(file));
  };
  expect(timing("1s")).toEqual([
    "siteward.yaml:4: leader.duration: 3s must be longer than leader.retry (1s) by more than 2s and by more than 10 %, " +
      "or each term ends before its first renewal",
  ]);
  expect(timing("999ms")).toEqual([]);
});

test("a policy is compared only with another one, and only if the site is judged and no controller is in shadow mode", () => {
  const compared = (more: string): readonly string[] => {
    write(`judgement: {compare: kubernetes${more}\n`);
    return problems();
  };
  expect(compared("}")).toEqual([]);
  expect(compared(", policy: kubernetes}")).toEqual([
    "siteward.yaml:3: judgement.compare: must be off under policy kubernetes, which needs no comparison with itself",
  ]);
  expect(compared("}\ncontrollers: {taintEviction: {mode: shadow}}")).toEqual([
    "siteward.yaml:3: judgement.compare: must be off while a controller is in shadow mode, which is compared with what others do",
  ]);
  expect(compared("}\ncontrollers: {taintEviction: {mode: off}}")).toEqual([]);
  expect(compared("}\ncontrollers: {nodeLifecycle: {mode: off}}")).toEqual([
    "siteward.yaml:3: judgement.compare: must be off while controllers.nodeLifecycle.mode is off, because no board is then judged",
  ]);
});

test("an invalid value does not hide conflicts between other settings", () => {
  const contradictions = "memory: {soft: 1500MiB, hard: 1GiB}\nleader: {duration: 30s}\n";
  const soft = "siteward.yaml:3: memory.soft: 1500MiB must not be more than memory.hard (1GiB)";
  const deadline = "default: leader.renewDeadline: 40s must be shorter than leader.duration (30s)";
  write(contradictions);
  expect(problems()).toEqual([deadline, soft]);
  write(`${contradictions}log: {level: loud}\n`);
  expect(problems()).toEqual([
    'siteward.yaml:5: log.level cannot be "loud"; it takes one of error, warn, info, debug',
    deadline,
    soft,
  ]);
});

test.each([
  ["is not a duration", "leader: {renewDeadline: 5 s, duration: 30s}", "leader.renewDeadline cannot be"],
  ["is misspelled", "leader: {renewDedline: 5s, duration: 30s}", "leader.renewDedline is not a setting"],
  ["is in the wrong place", "leader: {duration: 30s}\nrenewDeadline: 5s", "renewDeadline is not a setting"],
  ["is in a section that is misspelled", "leadr: {renewDeadline: 5s}", "leadr is not a setting"],
  ["is in place of a section", "leader: 5s", "leader is a section"],
  ["is written twice", "leader: {duration: 30s, renewDeadline: 5s, renewDeadline: 35s}", "is written twice"],
  ["cannot be read", "leader: {renewDeadline: 5s", "not valid YAML"],
])("if a value %s, no conflict with it is reported", (_, body, complaint) => {
  write("");
  dropIn("10.yaml", "leader: {retry: 5s}\n");
  dropIn("20.yaml", `${body}\n`);
  const env = body.includes("30s") ? {} : { SITEWARD_LEADER_DURATION: "30s" };
  expect(problems({ env })).toEqual([expect.stringContaining(complaint)]);
  const put = { ...env, SITEWARD_LEADER_RENEW_DEADLINE: "31s", SITEWARD_LEADER_DURATION: "30s" };
  expect(problems({ env: put })).toEqual([
    expect.stringContaining(complaint),
    "SITEWARD_LEADER_RENEW_DEADLINE: leader.renewDeadline: 31s must be shorter than leader.duration (30s)",
  ]);
});

test.each([
  ["mqtt: {fleet: north, url: %}", "mqtts://broker:65535", "mqtts://broker:65536"],
  ["mqtt: {fleet: north, url: %}", "'mqtt://[fd00::1]'", "'mqtt://[fd00:::1]'"],
  ["api: {proxy: %}", "http://proxy:3128", "http://proxy:99999"],
])("an address in %s is validated: %s is valid, %s is not", (body, good, bad) => {
  write(`${body.replace("%", good)}\n`);
  expect(problems()).toEqual([]);
  write(`${body.replace("%", bad)}\n`);
  expect(problems()).toEqual([expect.stringMatching(/^siteward\.yaml:3: (mqtt\.url|api\.proxy) cannot be/)]);
});

test("a file must have apiVersion and kind", () => {
  writeFileSync(file, "kind: KubeletConfiguration\nlog: {level: debug}\n");
  expect(problems()).toEqual([
    'siteward.yaml: must say "apiVersion: siteward.dev/v1"',
    'siteward.yaml:1: must say "kind: AgentConfiguration", not "KubeletConfiguration"',
  ]);
  writeFileSync(file, "- a\n");
  expect(problems()).toEqual(['siteward.yaml: must contain settings, not ["a"]']);
});

test("a file given explicitly must exist and be readable", () => {
  expect(problems()).toEqual(["siteward.yaml: does not exist"]);
  mkdirSync(file);
  expect(problems()).toEqual(["siteward.yaml: is a folder, not a file"]);
  rmSync(file, { recursive: true });
  writeFileSync(file, Buffer.from([0x61, 0x3a, 0xff, 0xfe]));
  expect(problems()).toEqual(["siteward.yaml: is not text in UTF-8"]);
  writeFileSync(file, "a".repeat(10 * 2 ** 20));
  expect(problems()).toEqual(["siteward.yaml: is too large: 10485760 bytes of at most 524288"]);
  expect(problemsOf(() => load({ file: "/dev/zero" }))).toEqual(["/dev/zero: is not a regular file"]);
});

test("an empty file is a mistake, but a section without settings is not", () => {
  writeFileSync(file, "");
  expect(problems()).toEqual(["siteward.yaml: the file is empty"]);
  write("nodeLifecycle:\n  # gracePeriod: 40s\n");
  expect(problems()).toEqual([]);
});

test("names of JavaScript's built-in members are not settings", () => {
  write("__proto__: {log: {level: debug}}\nconstructor: 1\nlog: {toString: 1}\n");
  expect(problems().map((problem) => problem.split(";")[0])).toEqual([
    "siteward.yaml:3: __proto__ is not a setting",
    "siteward.yaml:4: constructor is not a setting",
    "siteward.yaml:5: log.toString is not a setting",
  ]);
});

test("an unknown variable is only a warning, since a Service called siteward sets some in every pod", () => {
  write("");
  const { warnings } = load({
    env: { SITEWARD_SERVICE_HOST: "10.0.0.1", SITEWARD_LOG_LEVL: "debug", SITEWARD_LOG_FORMAT: "" },
  });
  expect(warnings).toEqual([
    "SITEWARD_SERVICE_HOST is not a setting",
    "SITEWARD_LOG_LEVL is not a setting; did you mean SITEWARD_LOG_LEVEL?",
  ]);
});

test("a drop-in that does not end in .yaml is not read, with a warning", () => {
  write("");
  dropIn("10-log.yml", "log: {level: debug}\n");
  dropIn(".hidden.yaml", "log: {level: debug}\n");
  const { config, warnings } = load();
  expect(config.log.level).toBe("info");
  expect(warnings).toEqual([`${folder}/conf.d/10-log.yml is ignored, because names of drop-in files end in .yaml`]);
});

test("a host name that cannot be a board's name has to be replaced by a person, never by the agent", () => {
  write("");
  expect(problems({ hostname: "pi_3.local" })[0]).toMatch(
    /^this host's name "pi_3\.local" cannot be the board's name; set board\.name/,
  );
  write("board: {name: pi-3, node: pi-3.local}\n");
  expect(load({ hostname: "pi_3.local" }).config.board).toMatchObject({ name: "pi-3", node: "pi-3.local" });
  write("board: {name: pi-4}\n");
  expect(load().config.board).toMatchObject({ name: "pi-4", node: "pi-4" });
});

test.each([
  ["region=east", true],
  ["topology.kubernetes.io/region in (east, west),!virtual", true],
  ["a!=b, c", true],
  ["a=b=c", false],
  ["a b", false],
  ["", false],
])("the label selector %j is accepted: %s", (selector, good) => {
  write(`site: {nodeSelector: ${JSON.stringify(selector)}}\n`);
  expect(problems()).toHaveLength(good ? 0 : 1);
});

test("a long invalid selector is refused immediately", () => {
  write(`site: {nodeSelector: "${"a".repeat(4000)}=b=c"}\n`);
  const before = performance.now();
  expect(problems()).toHaveLength(1);
  expect(performance.now() - before).toBeLessThan(500);
});

test("a problem of a firmware profile names the profile", () => {
  write("");
  expect(problems({ profile: { id: "rpi", settings: { cache: { pagesize: 3 } } } })).toEqual([
    "profile rpi: cache.pagesize is not a setting; did you mean cache.pageSize?",
  ]);
});

test("a file can be checked by itself, independent of this machine's other files", () => {
  dropIn("10.yaml", "nonsense: 1\n");
  write("log: {level: loud}\n");
  expect(problemsOf(() => checkFile(file))).toHaveLength(1);
  write("log: {level: debug}\n");
  expect(problemsOf(() => checkFile(file))).toEqual([]);
});

test("every setting has a variable of its own", () => {
  const paths = [...settingsIn(settings)].map(({ path }) => path);
  expect(new Set(paths.map(variableOf)).size).toBe(paths.length);
  expect(variableOf("nodeLifecycle.gracePeriod")).toBe("SITEWARD_NODE_LIFECYCLE_GRACE_PERIOD");
  expect(variableOf("cache.sqlite.cacheKiB")).toBe("SITEWARD_CACHE_SQLITE_CACHE_KIB");
});
