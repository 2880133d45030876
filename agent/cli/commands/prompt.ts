import type { HasDisposition } from "../../base/errors.ts";
import type { Output } from "../../base/io.ts";
import { cleanText } from "../../base/text/terminal-text.ts";

/** Asks questions at a terminal. Methods reject with `Declined` on Ctrl-C or Ctrl-D. */
export interface Prompt {
  /** Resolves to "" for a bare Enter. */
  ask(question: string): Promise<string>;
  /** Does not echo the input. */
  secret(question: string): Promise<string>;
  close(): void;
}

export class Declined extends Error implements HasDisposition {
  override readonly name = "Declined";
  readonly disposition = "exit";

  constructor() {
    super("cancelled; nothing was done");
  }
}

/** Whether prompting is possible: input and output are a terminal. */
export const canPrompt = (stdout: Output): boolean => stdout.isTTY && process.stdin.isTTY === true;

export async function promptOf(stdout: Output, signal: AbortSignal): Promise<Prompt> {
  const [{ createInterface }, { Writable }] = await Promise.all([
    import("node:readline/promises"),
    import("node:stream"),
  ]);
  let isMuted = false;
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (!isMuted) stdout.echo(chunk.toString());
      done();
    },
  });
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  const gone = new AbortController();
  lines.once("close", () => gone.abort());
  const answer = async (question: string): Promise<string> => {
    try {
      return (await lines.question(cleanText(question), { signal: AbortSignal.any([signal, gone.signal]) })).trim();
    } catch {
      stdout.line("");
      throw new Declined();
    }
  };
  return {
    ask: answer,
    secret: async (question) => {
      stdout.write(question);
      isMuted = true;
      try {
        return await answer("");
      } finally {
        isMuted = false;
        stdout.line("");
      }
    },
    close: () => lines.close(),
  };
}
