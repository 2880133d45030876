import { call } from "./tools.ts";

/**
 * The time of all files in a package, so that two builds of the same sources are identical: SOURCE_DATE_EPOCH
 * (reproducible-builds.org), or else the time of the last commit.
 */
export async function releaseDate(root: string, environment: NodeJS.ProcessEnv): Promise<Date> {
  const text = environment.SOURCE_DATE_EPOCH ?? (await lastCommit(root));
  if (!/^\d{1,11}$/.test(text)) throw new Error(`SOURCE_DATE_EPOCH must be seconds since 1970, not "${text}"`);
  return new Date(Number(text) * 1000);
}

async function lastCommit(root: string): Promise<string> {
  try {
    return (await call("git", ["log", "-1", "--format=%ct"], { cwd: root })).trim();
  } catch (error) {
    throw new Error("this folder has no commits that would give the package a date: set SOURCE_DATE_EPOCH", {
      cause: error,
    });
  }
}
