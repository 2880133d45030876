import { isForbidden } from "../../base/errors.ts";

/**
 * The object that a read returns; undefined if it does not exist, or if the read is not permitted. The status then
 * shows the missing permission, and evictions go on without the facts that only this object has.
 */
export async function unlessForbidden<T>(read: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
