// The Python guard's table of reasons, written from the kernel's: `node test/interop/python/reason-table.ts` writes it.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { refusals } from "@signet/kernel/errors"

export const guardFolder: string = join(import.meta.dirname, "../../../guards/python")
export const reasonTablePath: string = join(guardFolder, "signet_guard/_reason_table.py")

export function reasonTable(): string {
  const rows = Object.entries(refusals).map(
    ([reason, { code, status, message }]) => `    "${reason}": ("${code}", ${status}, ${JSON.stringify(message)}),`,
  )
  return [
    '"""Written from server/kernel/errors.ts by test/interop/python/reason-table.ts. Do not edit."""',
    "from typing import Dict, Tuple",
    "",
    "REASON_TABLE: Dict[str, Tuple[str, int, str]] = {",
    ...rows,
    "}",
    "",
  ].join("\n")
}

if (process.argv[1] === import.meta.filename) writeFileSync(reasonTablePath, reasonTable())
