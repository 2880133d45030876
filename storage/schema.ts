import type { Migration } from "./database/migrations.ts";

/**
 * cache.db: the mirror of the site. It may be deleted at any time.
 *
 * Forward only: a released step is never edited; each change is a step with a new number. Not even a comment inside a
 * CREATE statement may change, because SQLite stores the statement's text, and a file whose statements differ counts as
 * damaged. A step may drop cached objects, so changing which fields are stored (or what an index function computes
 * under an unchanged name) also requires a step.
 */
export const cacheMigrations: readonly Migration[] = [
  {
    number: 1,
    sql: `
      -- One row per cached resource. The other tables refer to it by its id.
      CREATE TABLE resources (
        id           INTEGER PRIMARY KEY,
        name         TEXT NOT NULL UNIQUE,
        position     TEXT,                        -- resourceVersion from which the watch resumes
        populated    INTEGER NOT NULL DEFAULT 0,  -- 1 once there was a delta or a finished Replace
        staged_after INTEGER                      -- while a Replace is under way: journal rows behind this seq belong to it
      );

      -- The state that readers see. The text is the object as JSON.
      CREATE TABLE objects (
        id       INTEGER PRIMARY KEY,
        resource INTEGER NOT NULL,
        key      TEXT NOT NULL,
        uid      TEXT NOT NULL,
        version  TEXT NOT NULL,                   -- its resourceVersion
        text     TEXT NOT NULL
      );
      CREATE UNIQUE INDEX objects_by_key ON objects (resource, key);

      -- The indices of each resource, and their rows: the object of this key has this value.
      CREATE TABLE indices (
        id       INTEGER PRIMARY KEY,
        resource INTEGER NOT NULL,
        name     TEXT NOT NULL,
        UNIQUE (resource, name)
      );
      CREATE TABLE index_rows (
        "index"  INTEGER NOT NULL,
        value    TEXT NOT NULL,
        key      TEXT NOT NULL,
        PRIMARY KEY ("index", value, key)
      ) WITHOUT ROWID;

      -- Deltas that were received and not yet applied. Each resource has its own range of seq, so that its queue is one
      -- run of the table. A row without a text refers to the object of the row before it, or else to the stored one.
      CREATE TABLE journal (
        seq      INTEGER PRIMARY KEY,
        resource INTEGER NOT NULL,
        key      TEXT NOT NULL,
        type     TEXT NOT NULL,                   -- Added, Updated, Replaced, Sync, Deleted; Deleted without text: a tombstone
        uid      TEXT NOT NULL,
        version  TEXT NOT NULL,
        text     TEXT
      );
      CREATE INDEX journal_by_key ON journal (resource, key);

      -- Keys that the Replace under way has listed and that need no journal row.
      CREATE TABLE seen (
        resource INTEGER NOT NULL,
        key      TEXT NOT NULL,
        PRIMARY KEY (resource, key)
      ) WITHOUT ROWID;
    `,
  },
  {
    number: 2,
    // As of this step, Pods are stored with additional fields, which decide on which boards they fit.
    sql: `
      DELETE FROM objects;
      DELETE FROM index_rows;
      DELETE FROM indices;
      DELETE FROM journal;
      DELETE FROM seen;
      DELETE FROM resources;
    `,
  },
  {
    number: 3,
    sql: `
      -- One row: a random number, which is also stored in the state.db that this cache belongs to.
      CREATE TABLE owner (
        id     INTEGER PRIMARY KEY CHECK (id = 0),
        number TEXT NOT NULL
      );
    `,
  },
  {
    number: 4,
    // The proof of the position, in a format known to the code that fills the cache. NULL: the position is not proven.
    sql: "ALTER TABLE resources ADD COLUMN proof TEXT;",
  },
  {
    number: 5,
    readableFrom: 4,
    sql: `
      -- Objects whose newest state cannot be used, with the reason, for the status.
      CREATE TABLE unusable (
        resource INTEGER NOT NULL,
        key      TEXT NOT NULL,
        why      TEXT NOT NULL,
        PRIMARY KEY (resource, key)
      ) WITHOUT ROWID;
    `,
  },
  {
    number: 6,
    readableFrom: 4,
    // As of this step, DaemonSets and their revisions are stored with exact integers.
    sql: `
      DELETE FROM objects;
      DELETE FROM index_rows;
      DELETE FROM indices;
      DELETE FROM journal;
      DELETE FROM seen;
      DELETE FROM unusable;
      DELETE FROM resources;
    `,
  },
  {
    number: 7,
    // As of this step, Pods are stored with their volume claims and one annotation. An older program would store Pods
    // without these, and this one would resume the watch after such Pods, so what they lack would never arrive.
    sql: `
      DELETE FROM objects;
      DELETE FROM index_rows;
      DELETE FROM indices;
      DELETE FROM journal;
      DELETE FROM seen;
      DELETE FROM unusable;
      DELETE FROM resources;
    `,
  },
  {
    number: 8,
    readableFrom: 7,
    sql: `
      -- The sizes of large bodies, so that their sum can be read without reading the bodies: see LargeBodies.
      CREATE INDEX large_objects ON objects (key, octet_length(text)) WHERE octet_length(text) > 32768;
      CREATE INDEX large_deltas ON journal (key, octet_length(text)) WHERE octet_length(text) > 32768;
    `,
  },
];

/** state.db: facts that cannot be obtained again. */
export const stateMigrations: readonly Migration[] = [
  {
    number: 1,
    sql: `
      -- Small facts that survive a restart, by the part of the program they belong to.
      CREATE TABLE memo (
        area  TEXT NOT NULL,
        key   TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (area, key)
      ) WITHOUT ROWID;
    `,
  },
  {
    number: 2,
    readableFrom: 1,
    sql: `
      -- Commands that were accepted, with their state and newest answer.
      CREATE TABLE commands (
        id        TEXT PRIMARY KEY,
        seq       INTEGER NOT NULL,               -- the order in which they came
        name      TEXT NOT NULL,
        scope     TEXT NOT NULL,                  -- board, site, fleet
        origin    TEXT NOT NULL,                  -- mqtt, local
        author    TEXT NOT NULL,
        hash      TEXT NOT NULL,                  -- SHA-256 of the payload as it came
        payload   TEXT NOT NULL,                  -- what a resumption needs; "" once there is a terminal answer
        state     TEXT NOT NULL,                  -- accepted, running, or that of the terminal answer
        answer    TEXT NOT NULL,
        lapses    TEXT NOT NULL,                  -- the end of its own time
        keep      TEXT NOT NULL,                  -- the end of the time in which it may come again
        told      INTEGER NOT NULL DEFAULT 0      -- 1: the terminal answer is with the sender, or on its way for good
      ) WITHOUT ROWID;
      CREATE UNIQUE INDEX commands_by_seq ON commands (seq);

      -- The highest counter that was accepted from each signing key.
      CREATE TABLE command_counters (
        kid     TEXT PRIMARY KEY,
        counter INTEGER NOT NULL
      ) WITHOUT ROWID;
    `,
  },
  {
    number: 3,
    readableFrom: 1,
    sql: `
      -- Messages for the fleet's broker. A row is deleted once the broker has acknowledged the message.
      CREATE TABLE outbox (
        id         INTEGER PRIMARY KEY,
        class      TEXT NOT NULL,                 -- response, event; dead: larger than the broker takes
        topic      TEXT NOT NULL,
        payload    TEXT NOT NULL,
        bytes      INTEGER NOT NULL,              -- of topic and payload
        retain     INTEGER NOT NULL,
        properties TEXT NOT NULL,                 -- JSON: code, correlation
        rank       INTEGER NOT NULL,              -- of its class: the least goes first where there is no room
        seq        INTEGER,                       -- of an event: counted without gaps
        boot       TEXT NOT NULL,                 -- the boot in which it was put here, and the monotonic time then
        since      REAL NOT NULL,
        ttl        REAL NOT NULL                  -- milliseconds from then
      );
      CREATE INDEX outbox_by_class ON outbox (class, rank, id, bytes);
    `,
  },
  {
    number: 4,
    readableFrom: 1,
    sql: `
      -- Decisions about harmful acts, for people who ask for the reason. One row is one story, from the first decision
      -- to its end.
      CREATE TABLE decisions (
        id      INTEGER PRIMARY KEY,
        subject TEXT NOT NULL,                    -- node/NAME or pod/NAMESPACE/NAME
        board   TEXT NOT NULL,                    -- the Node that the decision is about, also for a pod
        bytes   INTEGER NOT NULL,                 -- of the text
        text    TEXT NOT NULL                     -- JSON
      );
    `,
  },
];
