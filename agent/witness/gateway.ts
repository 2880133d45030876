import { connect } from "node:net";
import { type Clock, deadline, type Millis } from "../base/clock.ts";

/**
 * Asks the router on a path to boards (see `PathTo`). True if it answered, which shows that this machine reaches the
 * LAN there. False shows nothing: there may be no router, or one that does not answer. Never rejects.
 */
export type AskGateway = (path: string) => Promise<boolean>;

/** Ports of DNS and HTTP: a router usually accepts or refuses one of them. */
const ports = [53, 80];
/** Shorter than the pause between two questions. */
const timeout: Millis = 3000;

/**
 * The gateway by TCP: a connection that is accepted or refused is an answer. `routerOn`: the router's address, if any.
 */
export const gatewayByTcp =
  (clock: Clock, routerOn: (path: string) => string | undefined): AskGateway =>
  async (path) => {
    const host = routerOn(path);
    if (host === undefined) return false;
    const answers = await Promise.all(ports.map((port) => answersTcp(clock, host, port)));
    return answers.includes(true);
  };

/** Whether something accepts or refuses the connection. */
export const answersTcp = (clock: Clock, host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const bound = deadline(clock, timeout, new AbortController().signal, () => new Error("it does not answer"));
    const socket = connect({ host, port, signal: bound.signal });
    const over = (answers: boolean): void => {
      bound.dispose();
      resolve(answers);
      socket.destroy();
    };
    socket.once("connect", () => over(true));
    socket.once("error", (error) => over("code" in error && error.code === "ECONNREFUSED"));
  });
