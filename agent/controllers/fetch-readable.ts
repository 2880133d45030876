import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import { isOfOneObject } from "../base/errors.ts";
import type { SiteView } from "../loop/controller.ts";

/**
 * Like `fetch`, but returns "unreadable" if the object exists but nothing else is known about it. For passes over
 * several objects, which must not end because of one unreadable object.
 */
export async function fetchReadable<T extends KubeObject>(
  site: SiteView,
  resource: Resource<T>,
  key: string,
): Promise<T | undefined | "unreadable"> {
  try {
    return await site.fetch(resource, key);
  } catch (error) {
    if (isOfOneObject(error)) return "unreadable";
    throw error;
  }
}
