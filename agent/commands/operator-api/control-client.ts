import { request } from "node:http";
import { isRecord, type JsonRecord } from "../../base/json.ts";

/** No agent listens on the socket, or this user may not connect. */
export class SocketError extends Error {
  override readonly name = "SocketError";
  readonly disposition = "drop";
  readonly isForbidden: boolean;
  readonly hint: string;

  constructor(file: string, cause: unknown) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    const isForbidden = code === "EACCES" || code === "EPERM";
    super(isForbidden ? `${file} may not be used by this user` : `the agent does not answer at ${file}`, { cause });
    this.isForbidden = isForbidden;
    this.hint = isForbidden
      ? "Join the group of the socket (usermod -aG siteward USER, then log in again), or use sudo."
      : "Is it running? systemctl status siteward";
  }
}

/** Sends a command to the agent on this board and passes each answer on. Rejects with a SocketError. */
export function giveCommand(
  file: string,
  {
    envelope,
    told,
    signal,
  }: { readonly envelope: JsonRecord; told(answer: JsonRecord): void; readonly signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify(envelope);
    const headers = {
      accept: "application/x-ndjson",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const asked = request(
      { socketPath: file, path: "/v1/cmd", method: "POST", headers, signal, agent: false },
      (response) => {
        let rest = "";
        response.setEncoding("utf8");
        response.on("data", (text: string) => {
          const lines = (rest + text).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) tell(line, told);
        });
        response.once("end", () => {
          tell(rest, told);
          resolve();
        });
        // If the agent ends with the connection, it has sent all it could.
        response.once("error", () => resolve());
      },
    );
    asked.once("error", (error) => reject(signal.aborted ? signal.reason : new SocketError(file, error)));
    asked.end(body);
  });
}

/** The answer is plain text if the request itself could not be read. */
function tell(line: string, told: (answer: JsonRecord) => void): void {
  if (line === "") return;
  try {
    const value: unknown = JSON.parse(line);
    if (isRecord(value)) told(value);
  } catch {
    told({ state: "rejected", message: line });
  }
}
