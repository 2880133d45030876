import { spawn } from "node:child_process";
import { writeSync } from "node:fs";

/** Where messages to the service manager go. Never waits, never throws: what cannot be told now is not told. */
export interface Notifier {
  /** Lines of sd_notify(3), such as "READY=1". */
  tell(message: string): void;
}

export interface NotifierEdges {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly write?: (fd: number, text: string) => void;
  /** Starts a program and says when it has ended. */
  readonly start?: (program: string, args: readonly string[], env: Record<string, string>, ended: () => void) => void;
}

/** The cheapest way there is. Node itself has no datagram sockets, so that somebody else must have opened one for us. */
export function notifierOf(edges: NotifierEdges): Notifier {
  const { env, pid, write = writeText, start = startProgram } = edges;
  const fd = passedSocket("notify", env, pid) ?? numberIn(env.SITEWARD_NOTIFY_FD);
  if (fd !== undefined) return { tell: (message) => write(fd, message) };
  const { NOTIFY_SOCKET: socket, PATH: path = "/usr/bin:/bin" } = env;
  if (!socket) return { tell: () => {} };
  return oneAtATime((message, ended) =>
    start("systemd-notify", message.split("\n"), { NOTIFY_SOCKET: socket, PATH: path }, ended),
  );
}

/** A socket that the service manager opened under this name (`OpenFile=`, sd_listen_fds_with_names(3)). */
export function passedSocket(name: string, env: NotifierEdges["env"], pid: number): number | undefined {
  const { LISTEN_PID: ofPid, LISTEN_FDNAMES: names = "" } = env;
  if (numberIn(ofPid) !== pid) return undefined;
  const at = names.split(":").indexOf(name);
  return at < 0 ? undefined : firstPassed + at;
}

export const numberIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;

const firstPassed = 3;

/** Messages that wait for a program that hangs: the newest are worth more. */
const mostWaiting = 8;

/** Messages keep their order; what comes while a program runs goes with the next one. */
function oneAtATime(start: (message: string, ended: () => void) => void): Notifier {
  let waiting: string[] = [];
  let isRunning = false;
  const next = (): void => {
    isRunning = waiting.length > 0;
    if (!isRunning) return;
    const message = waiting.join("\n");
    waiting = [];
    start(message, next);
  };
  return {
    tell(message) {
      waiting.push(message);
      if (waiting.length > mostWaiting) waiting.shift();
      if (!isRunning) next();
    },
  };
}

/** EAGAIN: the service manager is busy, and the next message says the same or something newer. */
function writeText(fd: number, text: string): void {
  try {
    writeSync(fd, text);
  } catch {
    // Nobody can be told that somebody cannot be told.
  }
}

function startProgram(program: string, args: readonly string[], env: Record<string, string>, ended: () => void): void {
  const child = spawn(program, args, { env, stdio: "ignore" });
  child.once("error", ended);
  child.once("exit", ended);
}
