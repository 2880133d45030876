import { apiVersionOf, namespaces } from "../../../../agent/api/resources.ts";
import { TransportError } from "../../../../agent/client/transport/transport-error.ts";
import type { StoredObject } from "../../../../storage/object.ts";
import { choice, either, type FormOf, list, optional, record, text, whole } from "../../form.ts";

const words = {
  expired: [410, "Expired"],
  gone: [410, "Gone"],
  tooLarge: [504, "Timeout", "Too large resource version", "ResourceVersionTooLarge"],
  tooManyRequests: [429, "TooManyRequests"],
  internalError: [500, "InternalError"],
  unavailable: [503, "ServiceUnavailable"],
  timeout: [504, "Timeout"],
  badRequest: [400, "BadRequest"],
  unauthorized: [401, "Unauthorized"],
  forbidden: [403, "Forbidden"],
  notFound: [404, "NotFound"],
} as const satisfies Record<string, readonly [status: number, reason: string, message?: string, cause?: string]>;

const linkWords = {
  connectionRefused: "ConnectionRefused",
  connectionReset: "Reset",
  noAnswer: "Timeout",
  unknownHost: "UnknownHost",
  unreachable: "Unreachable",
} as const;

type Word = keyof typeof words;
type LinkWord = keyof typeof linkWords;

const names = [...Object.keys(words), ...Object.keys(linkWords)] as readonly (Word | LinkWord)[];

export const errorForm = either(
  [
    choice(names, {
      about:
        "expired and gone are 410, tooLarge is the answer to a resourceVersion from the future, the others are what they " +
        "say; connectionRefused, connectionReset, unknownHost and unreachable come at once, noAnswer after the client's " +
        "time-out of 30 s.",
    }),
    record(
      {
        status: whole({ about: "The HTTP status, or the code of the Status inside of a watch.", min: 100, max: 599 }),
        reason: optional(text({ about: "The reason of the Status; by default none." })),
        message: optional(text({ about: "Its message." })),
        retryAfterSeconds: optional(
          whole({ about: "The header Retry-After; inside of a watch details.retryAfterSeconds.", min: 0 }),
        ),
        causes: optional(list(text({ about: "The reason of a cause." }), { about: "details.causes." })),
        body: optional(text({ about: "The whole body in place of a Status, as a proxy sends it." })),
      },
      { about: "Any other refusal." },
    ),
  ],
  { about: "How it fails." },
);

export type Failure = FormOf<typeof errorForm>;

export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The server's answer, or the error of a link without one. */
export function refusalOf(failure: Failure): Refusal | TransportError {
  if (typeof failure === "string" && isLinkWord(failure)) {
    return new TransportError(linkWords[failure], `the server: ${failure}`);
  }
  const { status, retryAfterSeconds, body } = typeof failure === "string" ? { status: words[failure][0] } : failure;
  const retryAfter = retryAfterSeconds ?? (failure === "tooLarge" ? 1 : undefined);
  const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  return { status, headers, body: body ?? JSON.stringify(statusOf(failure)) };
}

/** The Status document of a failure. */
export function statusOf(failure: Failure): object {
  if (typeof failure !== "string") {
    const { status: code, reason = "", message = reason, retryAfterSeconds, causes = [] } = failure;
    const details = { retryAfterSeconds, causes: causes.map((cause) => ({ reason: cause, message })) };
    return { ...document, code, reason, message, details };
  }
  if (isLinkWord(failure)) return { ...document, code: 500, reason: "InternalError", message: failure };
  const [code, reason, message = reason, cause] = words[failure];
  const causes = cause === undefined ? [] : [{ reason: cause, message }];
  return { ...document, code, reason, message, details: { causes } };
}

const document = { kind: "Status", apiVersion: "v1", status: "Failure", metadata: {} };

const isLinkWord = (word: Word | LinkWord): word is LinkWord => Object.hasOwn(linkWords, word);

/** As the API writes it. */
export const wireObject = ({ metadata }: StoredObject): object => ({
  apiVersion: apiVersionOf(namespaces),
  kind: namespaces.kind,
  metadata,
});

export const wireList = (objects: readonly StoredObject[], metadata: object): string =>
  JSON.stringify({
    kind: `${namespaces.kind}List`,
    apiVersion: apiVersionOf(namespaces),
    metadata,
    items: objects.map(({ metadata: meta }) => ({ metadata: meta })),
  });
