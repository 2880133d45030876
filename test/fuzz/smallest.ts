const mostTries = 1500;
const mostMilliseconds = 2000;

/** A smaller input that still fails in the same way: removes pieces, large ones first. */
export async function smallest(bytes: Buffer, stillFails: (less: Buffer) => Promise<boolean>): Promise<Buffer> {
  const begun = performance.now();
  let [best, tries] = [bytes, 0];
  for (let size = Math.ceil(best.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.length; ) {
      if (tries++ > mostTries || performance.now() - begun > mostMilliseconds) return best;
      const less = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
      if (await stillFails(less)) best = less;
      else at += size;
    }
  }
  return best;
}
