import { basename, dirname, join } from "node:path";
import { sentenceOf } from "../../base/errors.ts";
import { exit } from "../../base/exit-codes.ts";
import type { Io, Run } from "../../base/io.ts";
import { incomplete } from "../../commands/desk/checks.ts";
import { parseEnvelope } from "../../commands/desk/envelope.ts";
import type { Refusal } from "../../commands/desk/refusal.ts";
import { kidPattern, newKeyPair, signatureOf } from "../../commands/desk/signature.ts";
import { writeNew } from "../../config/durable-file.ts";
import { codeOf, readText } from "../../config/read-text.ts";
import { parseDesired } from "../../fleet/configuration/desired.ts";

/** `siteward keygen NAME`: creates an operator's key pair, on the operator's machine. */
export const keygen: Run = async (io, { values, words }) => {
  const [kid = ""] = words;
  if (!kidPattern.test(kid))
    return refuse(io, exit.usage, "keygen: the name of a key must consist of letters, digits, dots and dashes");
  const folder = values.get("dir") ?? ".";
  const [keyFile, publicFile] = [join(folder, `${kid}.key`), join(folder, `${kid}.pub`)];
  const { privateKey, publicKey } = newKeyPair();
  try {
    writeNew(keyFile, privateKey, 0o600);
    writeNew(publicFile, publicKey, 0o644);
  } catch (error) {
    return refuse(io, exit.failed, `keygen: ${keyProblem(error, keyFile, publicFile)}`);
  }
  io.stdout.write(
    `${keyFile}   keep it secret: anyone who has it can send commands in your name\n` +
      `${publicFile}   on each board: sudo install -D -m 644 ${kid}.pub /etc/siteward/trust.d/${kid}.pub\n`,
  );
  return exit.ok;
};

function keyProblem(error: unknown, keyFile: string, publicFile: string): string {
  switch (codeOf(error)) {
    case "EEXIST":
      return `${keyFile} or ${publicFile} already exists: choose another name or folder`;
    case "ENOENT":
    case "ENOTDIR":
      return `there is no folder ${dirname(keyFile)}: create it, or choose another with --dir`;
    case "EACCES":
    case "EROFS":
      return `this user cannot write to ${dirname(keyFile)}: choose another folder with --dir`;
    default:
      return sentenceOf(error);
  }
}

/** `siteward sign`: prints the signature of a command or of settings, for the user properties `sig` and `kid`. */
export const sign: Run = async (io, { flags, values, words }) => {
  const [keyFile, topic] = [values.get("key"), values.get("topic")];
  const [file = ""] = words;
  if (keyFile === undefined || topic === undefined)
    return refuse(io, exit.usage, "sign needs --key FILE and --topic TOPIC");
  const isSettings = /^sw1\/[^/]+\/[^/]+\/[^/]+\/config\/desired$/.test(topic);
  const place = /^sw1\/[^/]+\/(?:[^/]+\/([^/]+)|_all)\/cmd\/([^/]+)\/([^/]+)$/.exec(topic);
  if (!place && !isSettings)
    return refuse(
      io,
      exit.usage,
      "sign: the topic is sw1/FLEET/SITE/BOARD/cmd/NAME/ID for a command, or …/config/desired for settings",
    );
  const key = readText(keyFile);
  if ("problem" in key) return refuse(io, exit.failed, `${keyFile}: ${key.problem}`);
  const payload = payloadOf(file);
  if (typeof payload === "string") return refuse(io, exit.failed, payload);
  const why = place ? commandProblem(place, payload) : settingsProblem(payload);
  if (why !== undefined) return refuse(io, exit.failed, `${file}: ${why}`);
  try {
    const sig = signatureOf(topic, payload, key.text);
    const kid = values.get("kid") ?? basename(keyFile).replace(/\.key$/, "");
    if (flags.has("json")) io.stdout.json({ kid, sig });
    else io.stdout.line(sig);
    return exit.ok;
  } catch (error) {
    return refuse(io, exit.failed, `${keyFile}: not a private key created by siteward keygen: ${sentenceOf(error)}`);
  }
};

/** Why every board would refuse this command; undefined if there is no such reason. */
function commandProblem([, board, name = "", id = ""]: readonly string[], payload: Uint8Array): string | undefined {
  const read = parseEnvelope(payload, { name, id });
  if ("refusal" in read) return refusalText(read.refusal);
  const { exp, ctr } = read.envelope;
  if (exp === undefined && ctr === undefined) return "it needs exp or ctr, which prevent a replay";
  const scope = board === "_site" ? "site" : "board";
  // The message expiry is set when the command is published; a valid one is assumed here.
  const lack = incomplete({ origin: "mqtt", scope, expirySeconds: 1, signature: { sig: "", kid: "" } }, read.envelope);
  return lack && refusalText(lack);
}

/** Why every board would refuse these settings; undefined if there is no such reason. */
function settingsProblem(payload: Uint8Array): string | undefined {
  const desired = parseDesired(payload);
  if (desired.kind === "nothing") return "it is empty";
  return desired.kind === "malformed" ? `every board would refuse this: ${desired.fault.message}` : undefined;
}

const refusalText = ({ message, field }: Refusal): string =>
  `every board would refuse this: ${message}${field === undefined ? "" : ` (${field})`}`;

/** The bytes to sign, including a final line break. Returns a sentence if the file cannot be read. */
function payloadOf(file: string): Uint8Array | string {
  const source = readText(file === "-" ? "/dev/stdin" : file);
  return "problem" in source ? `${file}: ${source.problem}` : Buffer.from(source.text, "utf8");
}

function refuse({ stderr }: Io, code: number, problem: string): number {
  stderr.line(`siteward: ${problem}`);
  return code;
}
