import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError, hintOf, sentenceOf } from "../../base/errors.ts";
import { exit } from "../../base/exit-codes.ts";
import type { Args, Io } from "../../base/io.ts";
import { silent } from "../../base/logger.ts";
import { readCredentialFile } from "../../client/credential-file.ts";
import { CredentialsError } from "../../client/credentials-error.ts";
import { KubeconfigCredentials } from "../../client/kubeconfig-credentials.ts";
import { TransportError } from "../../client/transport-error.ts";
import { ApiProbe } from "../../doctor/api-probe.ts";
import {
  checkFleet,
  checkSettings,
  type Enrolment,
  enrolmentFiles,
  leftovers,
  places,
  withFormerNames,
} from "../../enroll/enrolment.ts";
import { finish, isUnfinished, writeAll } from "../../enroll/file-set.ts";
import { flatKubeconfig, tokenKubeconfig } from "../../enroll/flat-kubeconfig.ts";
import { checkWritable, rootProblem } from "../../enroll/root-folder.ts";
import { proxiesOf } from "../../process/api-access.ts";
import { configOf } from "../../process/load-config.ts";
import { canAsk, promptOf } from "./prompt.ts";

/** `siteward enroll`: gives this board its credentials. Checks everything before writing anything. */
export async function run(io: Io, args: Args): Promise<number> {
  const root = args.values.get("root") ?? "/";
  const { ledger, settings, dropIn } = places(root);
  const wrong = rootProblem(root);
  if (wrong !== undefined) {
    io.stderr.line(`siteward: enroll: ${wrong}; nothing was written`);
    return exit.usage;
  }
  if (!args.flags.has("dry-run")) checkWritable([ledger, settings, dropIn]);
  if (isUnfinished(ledger) && !args.flags.has("dry-run")) {
    const ended = finish(ledger);
    io.stdout.line(`an enrolment that was cut short is finished now: ${ended.join(", ")}`);
    if (!args.values.has("kubeconfig") && !args.values.has("server")) {
      io.stdout.write(next(root));
      return exit.ok;
    }
  }
  const given = await inputs(io, args);
  if (given === undefined) {
    io.stderr.write(
      "siteward: enroll: name a kubeconfig (--kubeconfig FILE), or --server URL, --token-file FILE and --ca FILE\n",
    );
    return exit.usage;
  }
  const enrolment = withFormerNames(await read(given), root);
  checkSettings(enrolment);
  checkInForce(io, root);
  checkFleet(enrolment.fleet, names(io, enrolment, root));
  const files = enrolmentFiles(enrolment, root);
  const gone = leftovers(enrolment, root).filter((path) => existsSync(path));
  const reached = await greet(io, enrolment.kubeconfig).catch((error: unknown) => {
    throw given.server && error instanceof TransportError
      ? new CredentialsError(sentenceOf(error), "Name the authority that signed its certificate: --ca FILE.")
      : error;
  });
  io.stdout.line(reached);
  if (args.flags.has("dry-run")) {
    for (const { path, mode } of files) io.stdout.line(`would write ${path} (mode ${mode.toString(8)})`);
    for (const path of gone) io.stdout.line(`would remove ${path} (no broker is named)`);
    return exit.ok;
  }
  writeAll(files, ledger);
  for (const path of gone) rmSync(path, { force: true });
  for (const { path, mode } of files) io.stdout.line(`wrote ${path} (mode ${mode.toString(8)})`);
  for (const path of gone) io.stdout.line(`removed ${path} (no broker is named)`);
  io.stdout.write(next(root));
  if (root !== "/" || args.flags.has("no-doctor")) return exit.ok;
  io.stdout.write("\nsiteward doctor:\n");
  const { run: doctor } = await import("./doctor.ts");
  return await doctor(io, { flags: new Set(), values: new Map(), words: [] });
}

const next = (root: string): string =>
  root === "/"
    ? "next: sudo systemctl daemon-reload && sudo systemctl enable siteward && sudo systemctl restart siteward\n" +
      "      siteward status --wait ready --timeout 2m\n"
    : `next: put the card into its board; siteward starts with it if its service is enabled\n`;

/** Input from options or prompts. */
interface Inputs {
  readonly kubeconfig: { readonly file: string; readonly context: string | undefined } | undefined;
  readonly server: { readonly url: string; readonly token: string; readonly ca: string | undefined } | undefined;
  readonly site: string | undefined;
  readonly board: string | undefined;
  readonly fleet:
    | {
        readonly url: string;
        readonly name: string;
        readonly certificate: string | undefined;
        readonly key: string | undefined;
        readonly ca: string | undefined;
      }
    | undefined;
}

async function inputs(io: Io, { values }: Args): Promise<Inputs | undefined> {
  const of = (name: string): string | undefined => values.get(name);
  const file = of("kubeconfig");
  const url = of("server");
  if (file === undefined && url === undefined) return canAsk(io.stdout) ? await asked(io) : undefined;
  const tokenFile = of("token-file");
  const token = tokenFile === undefined ? undefined : (await readCredentialFile(tokenFile, "token file")).trim();
  if (url !== undefined && token === undefined) return undefined;
  const broker = of("mqtt");
  return {
    kubeconfig: file === undefined ? undefined : { file, context: of("context") },
    server: url === undefined ? undefined : { url, token: token ?? "", ca: of("ca") },
    site: of("site"),
    board: of("board"),
    fleet:
      broker === undefined
        ? undefined
        : {
            url: broker,
            name: of("fleet") ?? "",
            certificate: of("certificate"),
            key: of("key"),
            ca: of("mqtt-ca"),
          },
  };
}

/** Prompts for the same input. */
async function asked(io: Io): Promise<Inputs> {
  const prompt = await promptOf(io.stdout, io.signal);
  const ask = async (question: string): Promise<string | undefined> => (await prompt.ask(question)) || undefined;
  try {
    const file = await ask("kubeconfig file (Enter: give address and token instead): ");
    const server =
      file === undefined
        ? {
            url: await prompt.ask("address of the API server (https://…:6443): "),
            ca: await ask("file with its certificate authority: "),
            token: await prompt.secret("token (not shown): "),
          }
        : undefined;
    const site = await ask("site (Enter: as configured): ");
    const board = await ask(`board (Enter: ${io.hostname.toLowerCase()}): `);
    const url = await ask("fleet's MQTT broker (mqtts://…:8883; Enter: none): ");
    const fleet =
      url === undefined
        ? undefined
        : {
            url,
            name: await prompt.ask("fleet: "),
            certificate: await ask("client certificate file: "),
            key: await ask("its key file: "),
            ca: await ask("file with the broker's authority: "),
          };
    return { kubeconfig: file === undefined ? undefined : { file, context: undefined }, server, site, board, fleet };
  } finally {
    prompt.close();
  }
}

/** Reads every named file now, so that an unreadable one is reported before anything is written. */
async function read({ kubeconfig, server, site, board, fleet }: Inputs): Promise<Enrolment> {
  const text = (file: string | undefined, what: string): Promise<string> | undefined =>
    file === undefined ? undefined : readCredentialFile(file, what);
  return {
    kubeconfig: kubeconfig
      ? await flatKubeconfig(kubeconfig.file, kubeconfig.context)
      : tokenKubeconfig(server?.url ?? "", server?.token ?? "", await text(server?.ca, "certificate authority file")),
    site,
    board,
    fleet: fleet && {
      url: fleet.url,
      name: fleet.name,
      certificate: await text(fleet.certificate, "client certificate"),
      key: await text(fleet.key, "client key"),
      ca: await text(fleet.ca, "authority of the broker"),
    },
  };
}

/** Names that the certificate must carry: as enrolled, or as configured before. */
function names(io: Io, { site, board }: Enrolment, root: string): { readonly site: string; readonly board: string } {
  const former = root === "/" ? configured(io) : undefined;
  return {
    site: site ?? former?.site.name ?? "default",
    board: board ?? former?.board.name ?? io.hostname.toLowerCase(),
  };
}

/** Refuses to enrol credentials that the configuration would not use. */
function checkInForce(io: Io, root: string): void {
  const named = root === "/" ? configured(io)?.api.kubeconfig : undefined;
  if (named === undefined || named === places(root).credentials("kubeconfig")) return;
  throw new ConfigError([
    `api.kubeconfig names ${named}, and the service would go on using that; take the setting out (siteward config explain ` +
      "api.kubeconfig tells where it stands), and enrol again",
  ]);
}

function configured(io: Io) {
  try {
    return configOf(io, undefined).config;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/**
 * Contacts the API server with the new credentials. A server that refuses them, or that we do not trust, ends the
 * enrolment; an unreachable one does not, as boards are prepared at a bench.
 */
async function greet(io: Io, kubeconfig: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "siteward-enroll-"));
  const file = join(folder, "kubeconfig");
  writeFileSync(file, kubeconfig, { mode: 0o600 });
  const ambient = { clock: io.clock, random: io.random, log: silent };
  const probe = new ApiProbe(ambient, {
    credentials: new KubeconfigCredentials(ambient, { file, context: undefined, environment: io.env }),
    proxies: proxiesOf(io, undefined),
    signal: io.signal,
  });
  try {
    const { server } = await probe.access();
    const { status, version } = await probe.greeting();
    if (status === 401)
      throw new CredentialsError(
        `${server.origin} does not accept these credentials`,
        "Issue new ones, and compare the cluster that they are from.",
      );
    return `${server.origin} answers: Kubernetes ${version ?? "of an unknown version"}`;
  } catch (error) {
    if (!(error instanceof TransportError) || error.reason === "TLS") throw error;
    const hint = hintOf(error);
    return `not checked against the API server: ${sentenceOf(error)}${hint ? ` (${hint})` : ""}`;
  } finally {
    probe.close();
    if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
  }
}
