import { closeSync, openSync, read } from "node:fs";

/** Size of a read, in bytes: the kernel returns at most one page of a table. A longer line is truncated. */
const pieceBytes = 4096;

/**
 * Reads a table of /proc piece by piece: of each piece, the lines that end in it. Throws if it cannot be read.
 * Asynchronous, unlike `readFact`, for tables that grow with what other programs of this machine do: only one piece is
 * in memory, other work runs between two pieces, and the kernel searches for the next rows in a thread of its own.
 */
export async function* readLines(file: string): AsyncGenerator<readonly string[], void> {
  const handle = openSync(file, "r");
  try {
    const piece = Buffer.allocUnsafe(pieceBytes);
    let rest = "";
    for (;;) {
      const length = await readInto(piece, handle);
      if (length === 0) break;
      const lines = (rest + piece.toString("latin1", 0, length)).split("\n");
      rest = (lines.pop() ?? "").slice(0, pieceBytes);
      yield lines;
    }
    if (rest !== "") yield [rest];
  } finally {
    closeSync(handle);
  }
}

/** Reads on from where the last read ended. Returns the number of bytes; 0 at the end. */
const readInto = (piece: Buffer, handle: number): Promise<number> =>
  new Promise((resolve, reject) => {
    read(handle, piece, 0, piece.length, null, (error, length) => {
      if (error) reject(error);
      else resolve(length);
    });
  });
