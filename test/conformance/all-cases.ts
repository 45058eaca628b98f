// All cases: those of each module in the folder `cases`, so that none is left out.
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { protocols, restProtocol } from "./protocols.ts"
import type { Case } from "./scene.ts"

const folder = join(import.meta.dirname, "cases")

/** @throws TypeError for a module that exports no cases. */
export async function allCases(): Promise<readonly Case[]> {
  const found: Case[] = []
  for (const file of readdirSync(folder).toSorted()) {
    const module: { cases?: readonly Case[] } = await import(join(folder, file))
    if (!Array.isArray(module.cases) || module.cases.length === 0) throw new TypeError(`${file} exports no cases`)
    found.push(...module.cases)
  }
  return found
}

/** True if the case can run over the protocol. */
export const fits = ({ streams }: Case, protocol: string): boolean => !(streams && protocol === restProtocol)

/** One protocol per case, in rotation. @param from The index of the first case's protocol. */
export function inTurn(all: readonly Case[], from = 0): readonly (readonly [Case, string])[] {
  const names = Object.keys(protocols)
  const at = (i: number) => names[(from + i) % names.length] ?? restProtocol
  return all.map((one, i) => [one, fits(one, at(i)) ? at(i) : at(i + 1)])
}

/** Each case over each protocol that it can run over. */
export const everyOne = (all: readonly Case[]): readonly (readonly [Case, string])[] =>
  all.flatMap((one) =>
    Object.keys(protocols)
      .filter((protocol) => fits(one, protocol))
      .map((protocol) => [one, protocol] as const),
  )
