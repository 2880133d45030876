/** Reads a database in a transaction that does not end before the process does. */
import SQLite from "better-sqlite3";

const database = new SQLite(process.argv[2] ?? "", { readonly: true, timeout: 5000 });
const count = database.prepare("SELECT count(*) AS rows FROM objects");
database.exec("BEGIN");
count.get();
process.stdout.write("reading\n");
// Used again and again: a connection that nobody can reach any more is closed.
setInterval(() => count.get(), 1000);
