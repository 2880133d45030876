import { type Millis, sleep } from "../../../agent/base/clock.ts";
import type { Entry } from "../objects/object.ts";
import { rangeOf } from "../objects/object-store.ts";
import { isTerminating } from "../objects/termination.ts";
import type { Site } from "../requests/call.ts";
import { namespacesServed, servedKinds } from "../served.ts";
import { itemsOf } from "../verbs/list.ts";
import { deleteObject } from "../verbs/write.ts";

/** Objects deleted in one step; other requests are served between steps. */
const atATime = 100;
/**
 * Pause before a namespace that is not empty yet is examined again, because terminating pods and finalizers take time.
 */
const lookAgainAfter: Millis = 500;

/** Deletes the objects in namespaces that are being deleted, then the namespaces. */
export async function emptyNamespaces(site: Site, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const doomed = terminating(site);
    for (const namespace of doomed) step(site, namespace);
    await (doomed.length > 0 ? sleep(site.clock, lookAgainAfter, signal) : nextChange(site, signal));
  }
}

const terminating = ({ store }: Site): readonly Entry[] =>
  [...itemsOf(store, rangeOf(namespacesServed), store.revision)].filter(({ object }) => isTerminating(object));

/** Requests the deletion of the next objects. Once the namespace is empty, deletes the namespace itself. */
function step(site: Site, namespace: Entry): void {
  const { store } = site;
  const { name } = namespace.object.metadata;
  let empty = true;
  let asked = 0;
  for (const kind of servedKinds) {
    if (!kind.namespaced) continue;
    for (const entry of itemsOf(store, rangeOf(kind, name), store.revision)) {
      empty = false;
      if (isTerminating(entry.object)) continue;
      if (asked++ === atATime) return;
      deleteObject(site, kind, entry, {}, false);
    }
  }
  const now = store.get(namespacesServed, undefined, name);
  if (!empty || now === undefined || now.object.metadata.uid !== namespace.object.metadata.uid) return;
  store.remove(now, { ...now.object, spec: { finalizers: [] } });
}

function nextChange({ tail }: Site, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      stopListening();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const stopListening = tail.onChange(namespacesServed.plural, done);
    signal.addEventListener("abort", done, { once: true });
  });
}
