import { parseArgs } from "node:util";
import { EmbeddedServer } from "./embedded-server.ts";
import { lookAtAll, type Outcome } from "./run.ts";
import { suite } from "./suite.ts";
import { etcdCompaction, plainTarget, type Target, targetOf } from "./target.ts";

const usage = `npm run conformance -- [--kubeconfig FILE | --server URL] [--etcd URL] [--only PATTERN] [--list]

Checks that an API server has all properties on which siteward relies. The default is the embedded server, in this process.

  --kubeconfig FILE  the server of this file's current context; else SITEWARD_CONFORMANCE_KUBECONFIG
  --server URL       a server that asks for no credentials; else CONFORMANCE_SERVER
  --etcd URL         the server's etcd, to compact its history; without it, rules about that are not checked
  --only PATTERN     the rules whose names match this regular expression
  --list             list the rules without a server

Every rule uses its own namespace and deletes its objects. Exit: 0 all met, 1 some not, 69 no server, 2 wrong usage.`;

const words = { kubeconfig: "string", server: "string", etcd: "string", only: "string" } as const;

interface Wishes {
  readonly kubeconfig: string | undefined;
  readonly server: string | undefined;
  readonly etcd: string | undefined;
  readonly only: RegExp;
  readonly list: boolean;
}

function wishesIn(args: readonly string[]): Wishes {
  const strings = Object.fromEntries(Object.entries(words).map(([name, type]) => [name, { type }]));
  const options = { ...strings, list: { type: "boolean" }, help: { type: "boolean" } } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help === true) throw new Error("");
  const text = (name: keyof typeof words): string | undefined => {
    const value = Object.entries(values).find(([one]) => one === name)?.[1];
    return typeof value === "string" ? value : undefined;
  };
  const { SITEWARD_CONFORMANCE_KUBECONFIG, CONFORMANCE_SERVER } = process.env;
  const [kubeconfig, server] = [text("kubeconfig"), text("server")];
  if (kubeconfig !== undefined && server !== undefined) throw new Error("name a kubeconfig or a server, not both");
  return {
    kubeconfig: kubeconfig ?? (server === undefined ? SITEWARD_CONFORMANCE_KUBECONFIG : undefined),
    server: server ?? (kubeconfig === undefined ? CONFORMANCE_SERVER : undefined),
    etcd: text("etcd"),
    only: new RegExp(text("only") ?? ""),
    list: values.list === true,
  };
}

async function targetIn({ kubeconfig, server, etcd }: Wishes): Promise<Target | undefined> {
  const compact = etcd === undefined ? undefined : etcdCompaction(etcd);
  if (kubeconfig !== undefined) return targetOf(kubeconfig, compact);
  return server === undefined ? undefined : plainTarget(server, compact);
}

const marks = { met: "met        ", unmet: "NOT MET    ", "not checked": "not checked" } as const;

function tell({ rule, result, why, milliseconds }: Outcome): void {
  const reason = result === "unmet" ? why : result === "not checked" ? `\n  because ${why}` : "";
  console.log(`${marks[result]} ${rule.id}: ${rule.title} (${milliseconds} ms)${reason}`);
}

async function main(wishes: Wishes): Promise<number> {
  const rules = suite.filter(({ id }) => wishes.only.test(id));
  if (wishes.list) {
    for (const { id, title } of rules) console.log(`${id}: ${title}`);
    return 0;
  }
  const named = await targetIn(wishes);
  const embedded = named === undefined ? await EmbeddedServer.start() : undefined;
  const target = named ?? embedded?.target;
  if (target === undefined) return 69;
  console.log(`${rules.length} rules, checked on ${embedded ? "the embedded API" : target.server}`);
  const counts = { met: 0, unmet: 0, "not checked": 0 };
  try {
    await lookAtAll(rules, target, (outcome) => {
      counts[outcome.result]++;
      tell(outcome);
    });
  } finally {
    await embedded?.stop();
  }
  console.log(`${counts.met} met, ${counts.unmet} not met, ${counts["not checked"]} not checked`);
  return counts.unmet === 0 ? 0 : 1;
}

let wishes: Wishes;
try {
  wishes = wishesIn(process.argv.slice(2));
} catch (error) {
  const why = error instanceof Error ? error.message : String(error);
  console.log(why === "" ? usage : `${why}\n\n${usage}`);
  process.exit(why === "" ? 0 : 2);
}
try {
  process.exitCode = await main(wishes);
} catch (error) {
  console.error(`conformance: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 69;
}
