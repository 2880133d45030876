import { request } from "node:http";
import path from "node:path";
import type { AgentProcess } from "./agent-process.ts";

export interface OrderAnswer {
  readonly state: string;
  readonly code: number;
  readonly error?: string;
  readonly result?: Readonly<Record<string, unknown>>;
}

let orders = 0;

/** Sends a command as an operator on the board does, and returns its last answer. */
export function order(agent: AgentProcess, name: string, args: object): Promise<OrderAnswer> {
  const id = `order-${process.pid}-${++orders}`;
  const command = { v: 1, id, name, args, reason: "radio maintenance", by: "local:0" };
  const socketPath = path.join(agent.dir, "run/ctl.sock");
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, path: "/v1/cmd", method: "POST" }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => {
        text += chunk;
      });
      response.on("end", () => resolve(JSON.parse(text)));
    });
    call.on("error", reject);
    call.end(JSON.stringify(command));
  });
}
