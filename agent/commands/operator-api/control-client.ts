import { request } from "node:http";
import { isRecord, type JsonRecord } from "../../base/json.ts";

/** No agent listens on the socket, or this user is not allowed to connect. */
export class SocketError extends Error {
  override readonly name = "SocketError";
  readonly disposition = "drop";
  readonly isForbidden: boolean;
  readonly hint: string;

  constructor(file: string, cause: unknown) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    const isForbidden = code === "EACCES" || code === "EPERM";
    super(isForbidden ? `this user is not allowed to connect to ${file}` : `the agent does not answer at ${file}`, {
      cause,
    });
    this.isForbidden = isForbidden;
    this.hint = isForbidden
      ? "Join the group of the socket (usermod -aG siteward USER, then log in again), or use sudo."
      : "Check that it is running: systemctl status siteward";
  }
}

/**
 * Sends a command to the agent on this board, and calls `onAnswer` with each answer. Rejects with a SocketError if
 * there is no connection, or with the signal's reason.
 */
export function giveCommand(
  file: string,
  {
    envelope,
    onAnswer,
    signal,
  }: { readonly envelope: JsonRecord; onAnswer(answer: JsonRecord): void; readonly signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify(envelope);
    const headers = {
      accept: "application/x-ndjson",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const sent = request(
      { socketPath: file, path: "/v1/cmd", method: "POST", headers, signal, agent: false },
      (response) => {
        let rest = "";
        response.setEncoding("utf8");
        response.on("data", (text: string) => {
          const lines = (rest + text).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) parseAnswer(line, onAnswer);
        });
        response.once("end", () => {
          parseAnswer(rest, onAnswer);
          resolve();
        });
        // The agent has stopped, after sending every answer that it could.
        response.once("error", () => resolve());
      },
    );
    sent.once("error", (error) => reject(signal.aborted ? signal.reason : new SocketError(file, error)));
    sent.end(body);
  });
}

/** A line is plain text instead of JSON if the agent could not even read the request. */
function parseAnswer(line: string, onAnswer: (answer: JsonRecord) => void): void {
  if (line === "") return;
  try {
    const value: unknown = JSON.parse(line);
    if (isRecord(value)) onAnswer(value);
  } catch {
    onAnswer({ state: "rejected", message: line });
  }
}
