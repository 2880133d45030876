import { isForbidden } from "../../base/errors.ts";

/**
 * The object that a read returns; undefined if the read is not permitted either. The status then shows the missing
 * permission, and evictions go on without what only that object says.
 */
export async function unlessForbidden<T>(read: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
