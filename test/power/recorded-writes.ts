import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** One operation of a process on a file, in the order of the system calls. */
export type Deed = Write | Truncation | Sync | Unlink;

export interface Write {
  readonly do: "write";
  readonly file: string;
  readonly offset: number;
  readonly bytes: Buffer;
}

export interface Truncation {
  readonly do: "truncate";
  readonly file: string;
  readonly length: number;
}

/** The name of the file; "" for the folder itself. */
export interface Sync {
  readonly do: "sync";
  readonly file: string;
}

export interface Unlink {
  readonly do: "unlink";
  readonly file: string;
}

/** The reason why nothing can be recorded on this machine; undefined if it can. */
export function whyNotRecorded(): string | undefined {
  if (process.platform !== "linux") return "writes can be recorded only on Linux";
  try {
    execFileSync("cc", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "there is no C compiler (cc) for the layer that records writes";
  }
}

/** Runs the writer in `folder`/state under the recording layer. */
export function recordWriter(
  folder: string,
  { seed, rounds }: { readonly seed: number; readonly rounds: number },
): readonly Deed[] {
  const here = import.meta.dirname;
  const [layer, log, state] = ["record-writes.so", "log", "state"].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(folder, { recursive: true });
  execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", layer, path.join(here, "record-writes.c"), "-ldl"]);
  mkdirSync(state, { recursive: true });
  execFileSync(process.execPath, [path.join(here, "block-writer.ts"), state, String(seed), String(rounds)], {
    env: { ...process.env, LD_PRELOAD: layer, RECORD_FOLDER: state, RECORD_LOG: log },
    stdio: ["ignore", "inherit", "inherit"],
  });
  return deedsIn(readFileSync(log), state);
}

function deedsIn(log: Buffer, folder: string): readonly Deed[] {
  const deeds: Deed[] = [];
  for (let at = 0; at < log.length; ) {
    const end = log.indexOf("\n", at);
    const [what = "", offset = "", length = "", ...name] = log.toString("utf8", at, end).split(" ");
    const file = path.relative(folder, name.join(" "));
    const bytes = log.subarray(end + 1, end + 1 + Number(length));
    at = end + 1 + Number(length);
    if (what === "w") deeds.push({ do: "write", file, offset: Number(offset), bytes });
    else if (what === "t") deeds.push({ do: "truncate", file, length: Number(offset) });
    else if (what === "s") deeds.push({ do: "sync", file });
    else if (what === "u") deeds.push({ do: "unlink", file });
    else throw new Error(`the record has an unknown operation: ${what} ${file}`);
  }
  return deeds;
}
