/**
 * Node's flags for a small process. They must be known before the program starts, so they cannot be settings; the
 * service unit, the embedded site and the benches use this one list.
 *
 * - A young generation of 1 MB instead of 16, one helper thread for V8, no old generation above 64 MB.
 * - The heap is collected as soon as it has grown by a quarter, so that a list leaves no peak.
 * - The young generation is collected during marking, too. By default V8 waits for the end of the marking, and lets the
 *   young generation grow by 10 MB meanwhile.
 * - No optimizing compilers: the agent mostly parses, writes to SQLite and waits, which is native code anyway. They
 *   gain little, and cost 6 MB of their own code and as much of the code they produce.
 * - Only functions that have run 256 times, instead of 8, gather feedback and are compiled.
 * - Node's own modules are not unpacked from its start-up snapshot: reading it keeps 2.5 MB of the binary in memory,
 *   and saves only 60 ms of the start.
 * - Functions that did not run between two collections of the heap lose their bytecode until they run again: most of
 *   the start-up code. A follower is a megabyte smaller for it.
 * - The agent may request a collection of the heap: the one that also gives back the young generation, which no flag
 *   brings about (see agent/status/memory-guard.ts).
 * - If a kubeconfig names no authority, those that the board trusts (/etc/ssl/certs) decide, as for kubectl: each is
 *   read when it is needed. Those built into Node are a megabyte, and are read whatever the kubeconfig says.
 */
export const nodeFlags: readonly string[] = [
  "--max-semi-space-size=1",
  "--v8-pool-size=1",
  "--max-old-space-size=64",
  "--heap-growing-percent=25",
  "--no-separate-gc-phases",
  "--optimize-for-size",
  "--no-opt",
  "--no-maglev",
  "--invocation-count-for-feedback-allocation=256",
  "--no-node-snapshot",
  "--bytecode-old-age=1",
  "--expose-gc",
  "--use-openssl-ca",
];

/**
 * Two threads for files and names; one arena for malloc, since each arena keeps the memory it once took. Buffers of 32
 * KB and more are given back when they are freed. By default malloc learns from the first large buffers of a list to
 * keep all buffers of that size, and those of a site ten times as large cost 3 MB for good.
 */
export const nodeEnvironment: Readonly<Record<string, string>> = {
  UV_THREADPOOL_SIZE: "2",
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "32768",
  MALLOC_TRIM_THRESHOLD_: "65536",
  MALLOC_TOP_PAD_: "65536",
};

/**
 * For a parent process that must not leave an agent behind, however it ends: the agent's standard input is a pipe that
 * the parent holds, and the agent stops in good order when that closes.
 */
export const lifeline: Readonly<Record<string, string>> = { STOP_WITH_STDIN: "yes" };
