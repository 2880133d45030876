import type { Instant, Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import { readArguments } from "./arguments.ts";
import type { SiteControls } from "./controls.ts";
import type { Definition } from "./definitions/definition.ts";
import { commands as allCommands, find, namesIn } from "./definitions/registry.ts";
import type { Envelope } from "./envelope.ts";
import { isDisabled, type OwnerPolicy } from "./policy.ts";
import { type Refusal, rejection } from "./refusal.ts";
import type { CommandRequest, SignedMessage } from "./request.ts";
import { fingerprintOf, isSignatureOf } from "./signature.ts";
import { forbids, type Trust, type TrustedKey } from "./trust.ts";

/** The state that a command is checked against, all as of one instant. */
export interface DeskState {
  readonly now: Instant;
  /** The board's clock is synchronised. */
  readonly isSynced: boolean;
  readonly board: string;
  readonly bootId: string;
  /** The version of the fleet's configuration in force; undefined if there is none. */
  readonly configVersion: number | undefined;
  readonly standing: ReturnType<SiteControls["standing"]>;
  readonly trust: Trust;
  readonly policy: OwnerPolicy;
  readonly running: readonly { readonly id: string; readonly group: string | undefined }[];
  readonly isStopping: boolean;
  /**
   * The highest counter accepted from the key with this fingerprint: by this board and, for the scope "site", by any
   * leader; undefined if there is none yet.
   */
  counter(key: string, scope: CommandRequest["scope"]): number | undefined;
  /** Why commands cannot currently be persisted; undefined if they can. */
  obstacle(): string | undefined;
}

/** A parsed command with its definition and the result of the signature check. */
export interface Read {
  readonly request: Pick<CommandRequest, "origin" | "scope" | "isLate">;
  readonly envelope: Envelope;
  readonly definition: Definition;
  readonly args: JsonRecord;
  readonly signature: Verified;
  /** Remaining message expiry; undefined if the message has none. */
  readonly timeLeft: Millis | undefined;
}

export type Verified =
  | { readonly is: "missing" | "unknown-key" | "invalid" }
  | { readonly is: "valid"; readonly key: TrustedKey };

type Check = (command: Read, state: DeskState) => Refusal | undefined;

/**
 * Applies rows 13 to 24 of docs/interfaces.md#order-of-checks in order. Returns the refusal from the first check that
 * fails. `signature`: the result of the signature check, if it has already been made.
 */
export function judge(
  request: CommandRequest,
  envelope: Envelope,
  state: DeskState,
  signature: Verified | undefined,
): Read | Refusal {
  const { scope, expirySeconds } = request;
  const definition = find(envelope.name, scope);
  if (!definition) {
    const known = namesIn(scope).filter((name) => !isDisabled(state.policy, name));
    return { ...rejection(404, "unknown-command", `there is no such command for a ${scope}`), result: { known } };
  }
  const command: Read = {
    request,
    envelope,
    definition,
    args: envelope.args ?? {},
    signature: signature ?? verifySignature(request, state.trust),
    timeLeft: expirySeconds === undefined ? undefined : expirySeconds * 1000,
  };
  return first(checks, command, state) ?? command;
}

/** Repeats the checks whose results may have changed between the acceptance of a command and its resumption. */
export const judgeAgain = (command: Read, state: DeskState): Refusal | undefined =>
  first([expired, notLeader, preconditions], command, state);

/** Repeats the checks whose results may have changed while the counter was written to the site's Lease. */
export const judgeCounted = (command: Read, state: DeskState): Refusal | undefined =>
  first([expired, notLeader, preconditions, busy, unwritable, stopping], command, state);

/** The counter of a signed command, to be marked as used on the site's Lease. */
export interface SiteCounter {
  /** Fingerprint of the signing key. */
  readonly key: string;
  readonly counter: number;
}

/**
 * The counter that a signed site command must mark as used on the site's Lease before it is accepted; otherwise, the
 * next leader would accept the command again. Undefined if the command is unsigned, or not for the site.
 */
export function siteCounter({ request, signature, envelope }: Read): SiteCounter | undefined {
  if (request.scope !== "site" || signature.is !== "valid" || envelope.ctr === undefined) return undefined;
  return { key: fingerprintOf(signature.key.key), counter: envelope.ctr };
}

function first(all: readonly Check[], command: Read, state: DeskState): Refusal | undefined {
  for (const check of all) {
    const refusal = check(command, state);
    if (refusal) return refusal;
  }
  return undefined;
}

export const isMutating = ({ class: kind }: Definition): boolean => kind !== "read";

/** Whether the command is persisted before it is executed. */
export const isWritten = (definition: Definition, { dryRun }: Envelope): boolean =>
  isMutating(definition) && dryRun !== true;

/**
 * Whether the command came through the broker. Only such commands need signatures: a broker could impersonate the
 * fleet, whereas a local caller could stop the agent anyway.
 */
const isFromFleet = ({ request }: Read): boolean => request.origin === "mqtt";

export function verifySignature({ topic, payload, signature }: SignedMessage, trust: Trust): Verified {
  if (!signature) return { is: "missing" };
  const key = trust.keys.get(signature.kid);
  if (!key) return { is: "unknown-key" };
  return isSignatureOf(signature.sig, topic, payload, key.key) ? { is: "valid", key } : { is: "invalid" };
}

const badArgs: Check = ({ definition, args, request }) => {
  const read = readArguments(definition.args, args, "/args");
  const found = "problem" in read ? read.problem : definition.problem(read.value, request.scope);
  return found && { ...rejection(422, "bad-args", found.message), field: found.field };
};

const needsSignature = (command: Read, { trust }: DeskState): boolean =>
  command.definition.isSigned && trust.isInstalled && isFromFleet(command);

const unsigned: Check = (command, state) => {
  const { is } = command.signature;
  if (is === "valid" || !needsSignature(command, state)) return undefined;
  return rejection(401, `signature-${is}`, signatureFault(is, "command"));
};

/** Why the signature of a command, or of a settings document, is not accepted. */
export function signatureFault(is: Exclude<Verified["is"], "valid">, what: "command" | "document"): string {
  switch (is) {
    case "missing":
      return `this ${what} must be signed`;
    case "unknown-key":
      return "the signing key is not installed on this board";
    case "invalid":
      return `the signature does not match this ${what} on this topic`;
    default:
      return is satisfies never;
  }
}

const forbidden: Check = (command, state) => {
  const { definition, signature, request } = command;
  const { policy, now } = state;
  const why = (): string | undefined => {
    if (isDisabled(policy, definition.name)) return "this board's policy does not allow it";
    if (policy.problem !== undefined && isMutating(definition) && isFromFleet(command))
      return `this board's policy cannot be read: ${policy.problem}`;
    if (!needsSignature(command, state) || signature.is !== "valid") return undefined;
    return forbids(signature.key, definition.name, request.scope, now.wall);
  };
  const found = why();
  return found === undefined ? undefined : rejection(403, "forbidden", found);
};

const staleCounter: Check = ({ signature, envelope, request }, { counter }) => {
  if (signature.is !== "valid" || envelope.ctr === undefined) return undefined;
  const seen = counter(fingerprintOf(signature.key.key), request.scope);
  return seen === undefined || envelope.ctr > seen
    ? undefined
    : rejection(409, "stale-counter", `the counter of key ${signature.key.kid} must be above ${seen}`);
};

/** Accepted difference between the clocks of the sender and the board. */
export const skewAllowance: Millis = 60_000;

/** Maximum lifetime of a command. */
export const maxLifetime: Millis = 86_400_000;

const expired: Check = ({ envelope, timeLeft }, { now, isSynced }) => {
  const ends = envelope.exp === undefined ? undefined : Date.parse(envelope.exp);
  const isOver = timeLeft !== undefined && timeLeft <= 0;
  if (isOver || (isSynced && ends !== undefined && now.wall > ends + skewAllowance)) {
    return { state: "expired", code: 408, error: "expired", message: "the command expired before it could start" };
  }
  // The id must be remembered until `exp`, or the command could be replayed.
  return isSynced && ends !== undefined && ends > now.wall + maxLifetime + skewAllowance
    ? { ...rejection(400, "schema", "is more than a day in the future"), field: "/exp" }
    : undefined;
};

const clockUnknown: Check = (command, { isSynced, now }) => {
  const { definition, envelope, signature, request } = command;
  if (isSynced || !isMutating(definition) || !isFromFleet(command)) return undefined;
  const isFresh =
    signature.is === "valid" &&
    envelope.ctr !== undefined &&
    forbids(signature.key, definition.name, request.scope, now.wall) === undefined;
  return isFresh
    ? undefined
    : rejection(
        412,
        "clock-unsynced",
        "the board's clock is not synchronised: send the command signed, with a counter (ctr)",
      );
};

const notLeader: Check = ({ request }, { standing, board }) => {
  const { isLeader, leader, term } = standing;
  if (request.scope !== "site" || (isLeader && request.isLate !== true)) return undefined;
  if (isLeader) {
    const why = "the command may be older than this board's term, and a previous leader may have executed it";
    return { ...rejection(421, "not-leader", why), result: { leader, term } };
  }
  // After its term ends, this board no longer leads, but the Lease names it until another board acquires it.
  const known = leader === board ? undefined : leader;
  return { ...rejection(421, "not-leader", "this board does not lead the site"), result: { leader: known, term } };
};

const preconditions: Check = ({ envelope }, { standing, configVersion, bootId }) => {
  const current: Readonly<Record<string, unknown>> = { term: standing.term, configVersion, bootId };
  const wrong = Object.entries(envelope.if ?? {}).find(([name, wanted]) => current[name] !== wanted);
  return (
    wrong && {
      ...rejection(409, "precondition-failed", `${wrong[0]} does not have the value that the command expects`),
      field: `/if/${wrong[0]}`,
      result: current,
    }
  );
};

const maxRunning = 32;

const busy: Check = ({ definition, envelope }, { running }) => {
  if (!isMutating(definition)) return undefined;
  const other = running.find(({ group }) => group !== undefined && group === definition.group);
  if (other && envelope.dryRun !== true) {
    return { ...rejection(409, "busy", `${other.id} is still running`), result: { runningId: other.id } };
  }
  return running.length >= maxRunning ? rejection(409, "busy", "too many commands are running") : undefined;
};

const unwritable: Check = ({ definition, envelope }, { obstacle }) => {
  if (!isWritten(definition, envelope)) return undefined;
  const why = obstacle();
  return why === undefined ? undefined : rejection(507, "journal-unavailable", why);
};

const stopping: Check = (_, { isStopping }) =>
  isStopping ? rejection(503, "stopping", "the agent is stopping") : undefined;

const checks: readonly Check[] = [
  badArgs,
  unsigned,
  forbidden,
  staleCounter,
  expired,
  clockUnknown,
  notLeader,
  preconditions,
  busy,
  unwritable,
  stopping,
];

/** Checks members that only some commands need: the rest of row 7 of docs/interfaces.md#order-of-checks, and row 9. */
export function incomplete(
  { origin, scope, expirySeconds, signature }: Pick<CommandRequest, "origin" | "scope" | "expirySeconds" | "signature">,
  envelope: Envelope,
): Refusal | undefined {
  const definition = allCommands.get(envelope.name);
  const isChange = definition !== undefined && isMutating(definition);
  if (isChange && envelope.reason === undefined)
    return missing("reason", "a command that changes something needs a reason");
  if (origin === "local") return undefined;
  // Without an expiry or a counter, a recorded command could be replayed at any time.
  if (isChange && signature && envelope.exp === undefined && envelope.ctr === undefined)
    return missing("exp", "a signed command needs an expiry (exp) or a counter (ctr)");
  // Only the accepting board knows the id; the counter is known to every leader.
  if (isChange && signature && scope === "site" && envelope.ctr === undefined)
    return missing(
      "ctr",
      "a signed command for a site needs a counter, so that the next leader does not accept it again",
    );
  return expirySeconds === undefined || expirySeconds * 1000 > maxLifetime
    ? rejection(428, "expiry-required", "the message needs an expiry interval of at most one day")
    : undefined;
}

const missing = (field: string, why: string): Refusal => ({
  ...rejection(400, "schema", `is missing: ${why}`),
  field: `/${field}`,
});
