/**
 * Flags of Node.js for a small process. They are needed before the program starts, so they cannot be settings. The
 * service unit, the embedded site and the benches use this one list.
 *
 * - A young generation of 1 MB instead of 16, one helper thread for V8, no old generation above 64 MB.
 * - The heap is collected as soon as it has grown by a quarter, so that reading a large list does not cause a peak.
 * - The young generation is also collected during marking. By default, V8 waits for the end of the marking, during
 *   which the young generation grows by 10 MB.
 * - No optimizing compilers: the agent mostly parses, writes to SQLite and waits, which native code does anyway, so
 *   these compilers would gain little, and would cost 6 MB themselves and as much again for the code that they produce.
 * - Functions gather feedback and are compiled only after 256 calls, instead of 8.
 * - Node's own modules are not read from its start-up snapshot, which keeps 2.5 MB of the binary in memory and saves
 *   only 60 ms of the start.
 * - Functions that did not run between two collections of the heap lose their bytecode until they run again. This frees
 *   most of the start-up code, a megabyte on a follower.
 * - The agent may itself request a collection of the heap, the only one that also shrinks the young generation
 *   (agent/status/memory-guard.ts).
 * - For a kubeconfig without a certificate authority, the authorities that the board trusts (/etc/ssl/certs) apply, as
 *   with kubectl; OpenSSL reads each of them when needed. The authorities built into Node.js take a megabyte, and would
 *   be read even if the kubeconfig named its own.
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
 * Two threads for file access and name resolution. One arena for malloc, because an arena never returns its memory.
 * Buffers of 32 KB and more are returned to the system when freed; by default, malloc raises that limit once large
 * buffers have been freed, and then keeps up to 3 MB after a long list.
 */
export const nodeEnvironment: Readonly<Record<string, string>> = {
  UV_THREADPOOL_SIZE: "2",
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "32768",
  MALLOC_TRIM_THRESHOLD_: "65536",
  MALLOC_TOP_PAD_: "65536",
};

/**
 * Makes an agent stop cleanly when its standard input closes. A parent process sets this variable and keeps the other
 * end of that pipe open, so that the agent ends with the parent, regardless of how the parent ends.
 */
export const lifeline: Readonly<Record<string, string>> = { STOP_WITH_STDIN: "yes" };
