// Writes Reason.java.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { reasonsText } from "./reasons.ts"

writeFileSync(
  join(import.meta.dirname, "../../../guards/java/src/main/java/dev/signet/guard/Reason.java"),
  reasonsText(),
)
