/** Looks every ten milliseconds until it holds, and answers with the seconds that this took. */
export async function soon(what: string, holds: () => boolean, seconds: number): Promise<number> {
  const begun = performance.now();
  while (!holds()) {
    if (performance.now() - begun > seconds * 1000) throw new Error(`waited ${seconds} s in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return (performance.now() - begun) / 1000;
}
