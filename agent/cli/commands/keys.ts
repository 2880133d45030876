import { basename, join } from "node:path";
import { sentenceOf } from "../../base/errors.ts";
import { exit } from "../../base/exit-codes.ts";
import type { Io, Run } from "../../base/io.ts";
import { incomplete } from "../../commands/desk/checks.ts";
import { parseEnvelope } from "../../commands/desk/envelope.ts";
import type { Refusal } from "../../commands/desk/refusal.ts";
import { kidPattern, newKeyPair, signatureOf } from "../../commands/desk/signature.ts";
import { writeNew } from "../../config/durable-file.ts";
import { readText } from "../../config/read-text.ts";

/** `siteward keygen NAME`: creates an operator's key pair, on the operator's machine. */
export const keygen: Run = async (io, { values, words }) => {
  const [kid = ""] = words;
  if (!kidPattern.test(kid))
    return refuse(io, exit.usage, "keygen: a key is called by letters, digits, dots and dashes");
  const folder = values.get("dir") ?? ".";
  const [secret, open] = [join(folder, `${kid}.key`), join(folder, `${kid}.pub`)];
  const { privateKey, publicKey } = newKeyPair();
  try {
    writeNew(secret, privateKey, 0o600);
    writeNew(open, publicKey, 0o644);
  } catch (error) {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    const why = isThere ? `${secret} or ${open} is there already: take another name or folder` : sentenceOf(error);
    return refuse(io, exit.failed, `keygen: ${why}`);
  }
  io.stdout.write(
    `${secret}   keep it to yourself: who has it gives commands in your name\n` +
      `${open}   on each board: sudo install -D -m 644 ${kid}.pub /etc/siteward/trust.d/${kid}.pub\n`,
  );
  return exit.ok;
};

/** `siteward sign`: prints a command's signature, for the user properties `sig` and `kid`. */
export const sign: Run = async (io, { flags, values, words }) => {
  const [keyFile, topic] = [values.get("key"), values.get("topic")];
  const [file = ""] = words;
  if (keyFile === undefined || topic === undefined)
    return refuse(io, exit.usage, "sign needs --key FILE and --topic TOPIC");
  const place = /^sw1\/[^/]+\/(?:[^/]+\/([^/]+)|_all)\/cmd\/([^/]+)\/([^/]+)$/.exec(topic);
  if (!place) return refuse(io, exit.usage, "sign: a command's topic is sw1/FLEET/SITE/BOARD/cmd/NAME/ID");
  const key = readText(keyFile);
  if ("problem" in key) return refuse(io, exit.failed, `${keyFile}: ${key.problem}`);
  const payload = payloadOf(file);
  if (typeof payload === "string") return refuse(io, exit.failed, payload);
  const [, board, name = "", id = ""] = place;
  const read = parseEnvelope(payload, { name, id });
  if ("refusal" in read) return refuse(io, exit.failed, untaken(file, read.refusal));
  const { exp, ctr } = read.envelope;
  if (exp === undefined && ctr === undefined)
    return refuse(io, exit.failed, `${file}: it needs exp or ctr, or it could be played again`);
  const scope = board === "_site" ? "site" : "board";
  // The message expiry is set on publishing; assume a valid one here.
  const lack = incomplete({ origin: "mqtt", scope, expirySeconds: 1, signature: { sig: "", kid: "" } }, read.envelope);
  if (lack) return refuse(io, exit.failed, untaken(file, lack));
  try {
    const sig = signatureOf(topic, payload, key.text);
    const kid = values.get("kid") ?? basename(keyFile).replace(/\.key$/, "");
    if (flags.has("json")) io.stdout.json({ kid, sig });
    else io.stdout.line(sig);
    return exit.ok;
  } catch (error) {
    return refuse(io, exit.failed, `${keyFile}: it is not the private key of an operator: ${sentenceOf(error)}`);
  }
};

const untaken = (file: string, { message, field }: Refusal): string =>
  `${file}: no board would take this: ${message}${field === undefined ? "" : ` (${field})`}`;

/** The bytes as they will be published, including a final line break. */
function payloadOf(file: string): Uint8Array | string {
  const source = readText(file === "-" ? "/dev/stdin" : file);
  return "problem" in source ? `${file}: ${source.problem}` : Buffer.from(source.text, "utf8");
}

function refuse({ stderr }: Io, code: number, problem: string): number {
  stderr.line(`siteward: ${problem}`);
  return code;
}
