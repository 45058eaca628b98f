import type { Random } from "../../ports.ts"
import { hex } from "../crypto/bytes.ts"

/** Creates a unique row key that sorts after the last one. */
export function nextId(last: string | undefined, random: Random): string {
  const order = last === undefined ? 1 : Number(last.slice(0, 12)) + 1
  return `${order.toString().padStart(12, "0")}-${hex(random.bytes(8))}`
}
