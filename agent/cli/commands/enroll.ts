import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError, hintOf, sentenceOf } from "../../base/errors.ts";
import { exit } from "../../base/exit-codes.ts";
import type { Args, Io } from "../../base/io.ts";
import { noopLogger } from "../../base/logger.ts";
import { readCredentialFile } from "../../client/credentials/credential-file.ts";
import { CredentialsError } from "../../client/credentials/credentials-error.ts";
import { KubeconfigCredentials } from "../../client/credentials/kubeconfig-credentials.ts";
import { TransportError } from "../../client/transport/transport-error.ts";
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
import { canPrompt, promptOf } from "./prompt.ts";

/** `siteward enroll`: installs this board's credentials. Checks everything before writing anything. */
export async function run(io: Io, args: Args): Promise<number> {
  const root = args.values.get("root") ?? "/";
  const { ledger, settings, dropIn } = places(root);
  const problem = rootProblem(root);
  if (problem !== undefined) {
    io.stderr.line(`siteward: enroll: ${problem}; nothing was written`);
    return exit.usage;
  }
  if (!args.flags.has("dry-run")) checkWritable([ledger, settings, dropIn]);
  if (isUnfinished(ledger) && !args.flags.has("dry-run")) {
    const ended = finish(ledger);
    io.stdout.line(`completed an interrupted enrolment: ${ended.join(", ")}`);
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
  const wrong = wrongSettings(enrolment);
  if (wrong.length > 0) {
    for (const one of wrong) io.stderr.line(`siteward: enroll: ${one}; nothing was written`);
    return exit.usage;
  }
  checkInForce(io, root);
  checkFleet(enrolment.fleet, names(io, enrolment, root));
  const files = enrolmentFiles(enrolment, root);
  const outdated = leftovers(enrolment, root).filter((path) => existsSync(path));
  const reached = await contactServer(io, enrolment.kubeconfig).catch((error: unknown) => {
    throw given.server && error instanceof TransportError
      ? new CredentialsError(sentenceOf(error), "Name the authority that signed its certificate: --ca FILE.")
      : error;
  });
  io.stdout.line(reached);
  if (args.flags.has("dry-run")) {
    for (const { path, mode } of files) io.stdout.line(`would write ${path} (mode ${mode.toString(8)})`);
    for (const path of outdated) io.stdout.line(`would remove ${path} (no broker is named)`);
    return exit.ok;
  }
  writeAll(files, ledger);
  for (const path of outdated) rmSync(path, { force: true });
  for (const { path, mode } of files) io.stdout.line(`wrote ${path} (mode ${mode.toString(8)})`);
  for (const path of outdated) io.stdout.line(`removed ${path} (no broker is named)`);
  io.stdout.write(next(root));
  if (root !== "/" || args.flags.has("no-doctor")) return exit.ok;
  io.stdout.write("\nsiteward doctor:\n");
  const { run: doctor } = await import("./doctor.ts");
  const { checkIds } = await import("../../doctor/examination.ts");
  // The agent is started or restarted next, so whether it runs now says nothing about the enrolment.
  const only = checkIds.filter((id) => id !== "agent.state").join(",");
  return await doctor(io, { flags: new Set(), values: new Map([["only", only]]), words: [] });
}

/** The problems of the names and addresses that the user gave. */
function wrongSettings(enrolment: Enrolment): readonly string[] {
  try {
    checkSettings(enrolment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

const next = (root: string): string =>
  root === "/"
    ? "next: sudo systemctl daemon-reload && sudo systemctl enable siteward && sudo systemctl restart siteward\n" +
      "      siteward status --wait ready --timeout 2m\n"
    : `next: put the card into its board; siteward starts at boot if its service is enabled\n`;

/** The user's input, from options or prompts. */
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
  const option = (name: string): string | undefined => values.get(name);
  const file = option("kubeconfig");
  const url = option("server");
  if (file === undefined && url === undefined) return canPrompt(io.stdout) ? await prompted(io) : undefined;
  const tokenFile = option("token-file");
  const token = tokenFile === undefined ? undefined : (await readCredentialFile(tokenFile, "token file")).trim();
  if (url !== undefined && token === undefined) return undefined;
  const broker = option("mqtt");
  return {
    kubeconfig: file === undefined ? undefined : { file, context: option("context") },
    server: url === undefined ? undefined : { url, token: token ?? "", ca: option("ca") },
    site: option("site"),
    board: option("board"),
    fleet:
      broker === undefined
        ? undefined
        : {
            url: broker,
            name: option("fleet") ?? "",
            certificate: option("certificate"),
            key: option("key"),
            ca: option("mqtt-ca"),
          },
  };
}

/** Prompts for the input at the terminal. */
async function prompted(io: Io): Promise<Inputs> {
  const prompt = await promptOf(io.stdout, io.signal);
  const ask = async (question: string): Promise<string | undefined> => (await prompt.ask(question)) || undefined;
  try {
    const file = await ask("kubeconfig file (Enter: enter address and token instead): ");
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

/** Reads all named files, so that an unreadable one is reported before anything is written. */
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

/**
 * The site and board names that the client certificate must contain: as given now or, if not given, as configured
 * before.
 */
function names(io: Io, { site, board }: Enrolment, root: string): { readonly site: string; readonly board: string } {
  const former = root === "/" ? configured(io) : undefined;
  return {
    site: site ?? former?.site.name ?? "default",
    board: board ?? former?.board.name ?? io.hostname.toLowerCase(),
  };
}

/**
 * Throws a ConfigError if the configuration names another kubeconfig, because the service would not use the new one.
 */
function checkInForce(io: Io, root: string): void {
  const named = root === "/" ? configured(io)?.api.kubeconfig : undefined;
  if (named === undefined || named === places(root).credentials("kubeconfig")) return;
  throw new ConfigError([
    `api.kubeconfig names ${named}, and the service would keep using it; remove the setting (siteward config explain ` +
      "api.kubeconfig shows where it is set), and enrol again",
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
 * Contacts the API server with the new credentials and describes the outcome in a sentence. Throws if the server
 * refuses them, or if its certificate is not trusted. An unreachable server is not an error, because boards are often
 * prepared elsewhere.
 */
async function contactServer(io: Io, kubeconfig: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "siteward-enroll-"));
  const file = join(folder, "kubeconfig");
  writeFileSync(file, kubeconfig, { mode: 0o600 });
  const ambient = { clock: io.clock, random: io.random, log: noopLogger };
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
        "Issue new ones, and check that they are for this cluster.",
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
