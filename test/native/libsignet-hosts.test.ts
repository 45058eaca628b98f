// The hosts of libsignet: primitives, secret box, data folder, files and HTTP.
import { describe } from "vitest"
import { isNightly } from "../support/effort.ts"
import { testHosts } from "../support/native/hosts-suite.ts"
import { whyNoLibrary } from "../support/native/library.ts"
import { openUnitLibrary } from "../support/native/unit.ts"

/** The engine's own code is not instrumented. Stories run the library as it is published. */
const builds = isNightly ? ["nothing", "address,undefined"] : ["address,undefined"]

describe.skipIf(whyNoLibrary !== undefined).for(builds)(
  whyNoLibrary ?? "libsignet's hosts, sanitized by %s",
  (sanitize) => testHosts(() => openUnitLibrary(sanitize === "nothing" ? undefined : sanitize)),
)
