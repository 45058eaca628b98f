// What a server pays to read MLS bytes, as a ratio to one SHA-256 (portable, as it uses) over the same bytes.
import { sha256 } from "@noble/hashes/sha2.js"
import { ourSeat } from "../../clients/core/messaging/testing/our-seat.ts"
import { makeNodeSuite } from "../../clients/node/crypto/suite.ts"
import { parseCommit } from "../../server/framing/commit.ts"
import { keyPackageRef } from "../../server/framing/key-package.ts"
import { parseApplication } from "../../server/framing/message.ts"
import { parseTree } from "../../server/framing/tree.ts"
import { treeHash } from "../../server/framing/tree-hash.ts"
import { splitWelcome } from "../../server/framing/welcome.ts"

export interface Row {
  readonly name: string
  readonly bytes: number
  /** CPU, the median of some runs. */
  readonly micros: number
  readonly perSha256: number
}

const suite = makeNodeSuite()
/** As long as a device credential is. */
const name = (n: number) => `member ${n}`.padEnd(228, ".")

/** `members` of the large group, above 2. */
export const sizes = { usual: { members: 1_000 }, smallest: { members: 10 } }

export async function run({ members }: typeof sizes.usual): Promise<Row[]> {
  const founder = await ourSeat(suite, name(0))
  await founder.create(new Uint8Array(32))
  const keyPackages: Uint8Array[] = []
  for (let n = 1; n < members; n++) keyPackages.push(await (await ourSeat(suite, name(n))).keyPackage())
  const one = await founder.add(keyPackages.slice(0, 1))
  // A commit has at most 512 adds.
  let all = one
  for (let n = 1; n < keyPackages.length; n += 500) all = await founder.add(keyPackages.slice(n, n + 500))
  const update = (await founder.update()).commit
  const message = await founder.encrypt("hello")
  const { welcome, tree } = all
  const adds = parseCommit(all.commit).adds.length
  if (welcome === undefined || tree === undefined) throw new Error("nobody was added")
  return [
    measured("application message", message, 2_000, () => parseApplication(message)),
    measured("commit, 1 add, with its reference", one.commit, 2_000, () =>
      parseCommit(one.commit).adds.map(keyPackageRef),
    ),
    measured(`commit of ${members} members, path`, update, 200, () => parseCommit(update)),
    measured(`commit, ${adds} adds, with references`, all.commit, 20, () =>
      parseCommit(all.commit).adds.map(keyPackageRef),
    ),
    measured(`Welcome for ${adds}, split`, welcome, 20, () => splitWelcome(welcome)),
    measured(`tree of ${members} members`, tree, 20, () => parseTree(tree)),
    measured(`tree of ${members} members, and its hash`, tree, 20, () => treeHash(parseTree(tree))),
  ]
}

function measured(name: string, bytes: Uint8Array, repeat: number, act: () => unknown): Row {
  const micros = medianMicros(repeat, act)
  return { name, bytes: bytes.length, micros, perSha256: micros / medianMicros(repeat, () => sha256(bytes)) }
}

function medianMicros(repeat: number, act: () => unknown): number {
  const times: number[] = []
  for (let round = 0; round < 7; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < repeat; i++) act()
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / repeat)
  }
  return times.toSorted((a, b) => a - b)[3] ?? 0
}
