import { describe, expect, test } from "vitest";
import { collapse } from "../../../storage/delta-fifo/collapse.ts";
import type { JournalRow } from "../../../storage/delta-fifo/journal.ts";
import type { DeltaType } from "../../../storage/object.ts";
import { show, shownChanges, type Thing, thing } from "../object-store.ts";

/** "Updated foo@2"; a type without an object speaks of what was known before: "Deleted", "Sync". */
function outcome(stored: string | undefined, ...deltas: readonly string[]) {
  const objects = new Map<number, Thing>();
  let known = stored === undefined ? undefined : thing(stored);
  const rows = deltas.map((text, seq): JournalRow => {
    const [type = "", spec] = text.split(" ");
    if (spec !== undefined) known = thing(spec);
    if (known === undefined) throw new Error("of what?");
    if (spec !== undefined) objects.set(seq, known);
    const { uid, resourceVersion: version } = known.metadata;
    return {
      seq,
      type: type as DeltaType,
      uid,
      version,
      hasObject: spec !== undefined,
      bytes: spec === undefined ? 0 : 100,
    };
  });
  const { changes, after, row } = collapse("foo", stored === undefined ? undefined : thing(stored), rows, ({ seq }) => {
    const object = objects.get(seq);
    if (object === undefined) throw new Error(`row ${seq} has no object`);
    return object;
  });
  return { shownChanges: shownChanges(changes), after: show(after), row: row?.seq };
}

describe("the deltas of a key are collapsed if an object", () => {
  test.each<
    [name: string, stored: string | undefined, deltas: string[], shownChanges: string[], after: string, row?: number]
  >([
    ["appears", undefined, ["Added foo@1"], ["- > foo@1"], "foo@1", 0],
    ["appears, regardless of the type of the delta", undefined, ["Updated foo@1"], ["- > foo@1"], "foo@1", 0],
    ["changes, regardless of the type of the delta", "foo@1", ["Added foo@2"], ["foo@1 > foo@2"], "foo@2", 0],
    ["is listed unchanged", "foo@1", ["Replaced foo@1"], ["foo@1 > foo@1"], "foo@1", 0],
    ["is synced", "foo@1", ["Sync"], ["foo@1 > foo@1"], "foo@1"],
    ["is synced, then changes", "foo@1", ["Sync", "Updated foo@2"], ["foo@1 > foo@2"], "foo@2", 1],
    ["is deleted", "foo@1", ["Deleted foo@2"], ["foo@2 > -"], "-"],
    ["is deleted, by a tombstone", "foo@1", ["Deleted"], ["foo@1 > -"], "-"],
    ["changes, then is deleted by a tombstone", "foo@1", ["Updated foo@2", "Deleted"], ["foo@2 > -"], "-"],
    ["is deleted with a state older than the stored one", "foo@10", ["Deleted foo@9"], ["foo@10 > -"], "-"],
    ["is deleted, with versions compared as numbers", "foo@9", ["Deleted foo@10"], ["foo@10 > -"], "-"],
    ["is deleted, with versions that are not numbers", "foo@x9", ["Deleted foo@a1"], ["foo@a1 > -"], "-"],
    ["appears and is deleted unseen", undefined, ["Added foo@1", "Updated foo@2", "Deleted foo@3"], [], "-"],
    ["is deleted and appears again", "foo@1", ["Deleted foo@2", "Added foo@3"], ["foo@1 > foo@3"], "foo@3", 1],
    [
      "is recreated",
      "foo@1",
      ["Deleted foo@2", "Added foo@3/second", "Updated foo@4/second"],
      ["foo@2 > -", "- > foo@4/second"],
      "foo@4/second",
      2,
    ],
    ["is recreated unseen", "foo@1", ["Updated foo@3/second"], ["foo@1 > -", "- > foo@3/second"], "foo@3/second", 0],
    ["is recreated and deleted again", "foo@1", ["Added foo@3/second", "Deleted foo@4/second"], ["foo@1 > -"], "-"],
    ["is another object, which is deleted", "foo@1", ["Deleted foo@4/second"], ["foo@1 > -"], "-"],
    [
      "is recreated twice",
      undefined,
      ["Added foo@1", "Added foo@2/second", "Added foo@3/third"],
      ["- > foo@1", "foo@1 > -", "- > foo@2/second", "foo@2/second > -", "- > foo@3/third"],
      "foo@3/third",
      2,
    ],
  ])("%s", (_, stored, deltas, expected, after, row) => {
    expect(outcome(stored, ...deltas)).toEqual({ shownChanges: expected, after, row });
  });
});
