import { spawn } from "node:child_process";
import { writeSync } from "node:fs";

/** Sends messages to the service manager. Never waits or throws: a message that cannot be sent now is dropped. */
export interface Notifier {
  /** Lines of sd_notify(3), such as "READY=1". */
  tell(message: string): void;
}

export interface NotifierEdges {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly write?: (fd: number, text: string) => void;
  /** Starts a program and calls `ended` when it has exited. */
  readonly start?: (program: string, args: readonly string[], env: Record<string, string>, ended: () => void) => void;
}

/**
 * Picks the cheapest channel. Node has no datagram sockets, so an inherited descriptor is preferred to running
 * systemd-notify.
 */
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

/**
 * Descriptor of a socket that the service manager opened under this name (`OpenFile=`, sd_listen_fds_with_names(3)).
 */
export function passedSocket(name: string, env: NotifierEdges["env"], pid: number): number | undefined {
  const { LISTEN_PID: ofPid, LISTEN_FDNAMES: names = "" } = env;
  if (numberIn(ofPid) !== pid) return undefined;
  const at = names.split(":").indexOf(name);
  return at < 0 ? undefined : firstPassed + at;
}

export const numberIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;

const firstPassed = 3;

/** Bound on messages waiting for a program that hangs; the oldest are dropped. */
const mostWaiting = 8;

/** Keeps the order; messages that arrive while the program runs are sent together by the next run. */
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

/** On EAGAIN the service manager is busy; the next message repeats or supersedes this one. */
function writeText(fd: number, text: string): void {
  try {
    writeSync(fd, text);
  } catch {
    // No channel is left to report this on.
  }
}

function startProgram(program: string, args: readonly string[], env: Record<string, string>, ended: () => void): void {
  const child = spawn(program, args, { env, stdio: "ignore" });
  child.once("error", ended);
  child.once("exit", ended);
}
