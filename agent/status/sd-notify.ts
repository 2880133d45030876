import { spawn } from "node:child_process";
import { writeSync } from "node:fs";

/** Sends messages to the service manager. Never waits or throws: a message that cannot be sent now is dropped. */
export interface Notifier {
  /** Lines of sd_notify(3), such as "READY=1". */
  send(message: string): void;
}

export interface NotifierDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly write?: (fd: number, text: string) => void;
  /** Starts a program and calls `ended` when it has exited. */
  readonly start?: (program: string, args: readonly string[], env: Record<string, string>, ended: () => void) => void;
}

/**
 * The notifier for this process: a descriptor that it inherited or, without one, the program systemd-notify, because Node
 * cannot send to Unix datagram sockets. Without systemd it does nothing.
 */
export function notifierOf(edges: NotifierDeps): Notifier {
  const { env, pid, write = writeText, start = startProgram } = edges;
  const fd = passedSocket("notify", env, pid) ?? numberIn(env.SITEWARD_NOTIFY_FD);
  if (fd !== undefined) return { send: (message) => write(fd, message) };
  const { NOTIFY_SOCKET: socket, PATH: path = "/usr/bin:/bin" } = env;
  if (!socket) return { send: () => {} };
  return oneAtATime((message, ended) =>
    start("systemd-notify", message.split("\n"), { NOTIFY_SOCKET: socket, PATH: path }, ended),
  );
}

/**
 * The descriptor of a socket that the service manager opened under a name (`OpenFile=`, sd_listen_fds_with_names(3));
 * undefined if there is none.
 */
export function passedSocket(name: string, env: NotifierDeps["env"], pid: number): number | undefined {
  const { LISTEN_PID: ofPid, LISTEN_FDNAMES: names = "" } = env;
  if (numberIn(ofPid) !== pid) return undefined;
  const at = names.split(":").indexOf(name);
  return at < 0 ? undefined : firstPassed + at;
}

/** The number that a text of digits spells; undefined for any other text. */
export const numberIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;

const firstPassed = 3;

/** Maximum number of messages that wait while the program hangs; the oldest are dropped. */
const maxWaiting = 8;

/** Sends messages in order. Those that arrive while the program runs are sent together by its next run. */
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
    send(message) {
      waiting.push(message);
      if (waiting.length > maxWaiting) waiting.shift();
      if (!isRunning) next();
    },
  };
}

/** Writes without waiting. If that fails, for example with EAGAIN, the message is dropped: a later one replaces it. */
function writeText(fd: number, text: string): void {
  try {
    writeSync(fd, text);
  } catch {
    // The failure cannot be reported to the service manager either.
  }
}

function startProgram(program: string, args: readonly string[], env: Record<string, string>, ended: () => void): void {
  const child = spawn(program, args, { env, stdio: "ignore" });
  child.once("error", ended);
  child.once("exit", ended);
}
