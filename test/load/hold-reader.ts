/** Reads a database in a transaction that lasts until the process ends. */
import SQLite from "better-sqlite3";

const database = new SQLite(process.argv[2] ?? "", { readonly: true, timeout: 5000 });
const count = database.prepare("SELECT count(*) AS rows FROM objects");
database.exec("BEGIN");
count.get();
process.stdout.write("reading\n");
// Keeps using the connection: an unreachable one would be closed.
setInterval(() => count.get(), 1000);
