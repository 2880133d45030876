import { type Millis, sleep } from "../../agent/base/clock.ts";
import type { Site } from "./call.ts";
import { itemsOf } from "./list.ts";
import type { Entry } from "./object.ts";
import { rangeOf } from "./object-store.ts";
import { namespacesServed, servedKinds } from "./served.ts";
import { isTerminating } from "./termination.ts";
import { deleteObject } from "./write.ts";

/** Objects that are deleted in one go; between two of them other requests have their turn. */
const atATime = 100;
/** Pods that end, and finalizers, take their time. */
const lookAgainAfter: Millis = 500;

/** Deletes what is in namespaces that are being deleted, and then them. */
export async function emptyNamespaces(site: Site, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const doomed = terminating(site);
    for (const namespace of doomed) step(site, namespace);
    await (doomed.length > 0 ? sleep(site.clock, lookAgainAfter, signal) : nextChange(site, signal));
  }
}

const terminating = ({ store }: Site): readonly Entry[] =>
  [...itemsOf(store, rangeOf(namespacesServed), store.revision)].filter(({ object }) => isTerminating(object));

/** Asks for the deletion of the next objects; a namespace in which nothing is left goes itself. */
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
