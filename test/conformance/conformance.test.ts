import { EmbeddedServer } from "./embedded-server.ts";
import { testRules } from "./test-rules.ts";

testRules("the embedded API", () => EmbeddedServer.start());
