/**
 * How Node is started so that it stays small: a young generation of 1 MB instead of 16, one helper thread for V8, two for
 * files and names, one malloc arena. What has to be known before the program starts cannot be a setting; the service
 * unit, the embedded site and the benches use this one list.
 */
export const nodeFlags: readonly string[] = ["--max-semi-space-size=1", "--v8-pool-size=1", "--max-old-space-size=64"];

export const nodeEnvironment: Readonly<Record<string, string>> = { UV_THREADPOOL_SIZE: "2", MALLOC_ARENA_MAX: "1" };
