import { encodeGroupContext } from "ts-mls/groupContext.js"
import { parseCommit } from "../commit.ts"
import { parseGroupInfo, verifyGroupInfo } from "../group-info.ts"
import { parseKeyPackage, verifyKeyPackage } from "../key-package.ts"
import { parseApplication } from "../message.ts"
import { verifyCommitSignature } from "../transcript.ts"
import { parseTree } from "../tree.ts"
import { parseWelcome } from "../welcome.ts"
import { type RecordedCommit, recordSmall, suite } from "./recording.ts"

/** A valid message of one kind, with its parser. */
export interface Sample {
  readonly name: string
  readonly bytes: Uint8Array
  readonly parse: (bytes: Uint8Array) => object
  /** Verifies its signatures; absent if a server cannot verify any. */
  readonly verify?: (bytes: Uint8Array) => boolean
}

/** Node's Ed25519, which is faster than the portable implementation. */
export function verify(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const good = suite.verify(key, message, signature)
  if (typeof good !== "boolean") throw new Error("the Node suite verifies at once")
  return good
}

/** One sample of every kind that a server parses. */
export async function samples(): Promise<Sample[]> {
  const { commits, messages, keyPackages } = await recordSmall()
  const [withAdds, withPath, withRemove] = commits
  const [message] = messages
  const [keyPackage] = keyPackages
  if (!withAdds || !withPath || !withRemove || !message || !keyPackage) throw new Error("too little was recorded")
  const commit = (name: string, recorded: RecordedCommit): Sample => {
    const { before, sender, staged } = recorded
    const context = encodeGroupContext(before.context)
    const key = before.members.find(({ leaf }) => leaf === sender)?.signatureKey ?? new Uint8Array()
    const good = (bytes: Uint8Array) => verifyCommitSignature(parseCommit(bytes), context, key, verify)
    return { name, bytes: staged.commit, parse: parseCommit, verify: good }
  }
  return [
    {
      name: "a key package",
      bytes: keyPackage.keyPackage,
      parse: parseKeyPackage,
      verify: (bytes) => verifyKeyPackage(parseKeyPackage(bytes), verify),
    },
    commit("a commit with adds", withAdds),
    commit("a commit with a path", withPath),
    commit("a commit with a remove", withRemove),
    {
      name: "a GroupInfo",
      bytes: withAdds.staged.groupInfo,
      parse: parseGroupInfo,
      verify: (bytes) =>
        verifyGroupInfo(parseGroupInfo(bytes), withAdds.after.members[0]?.signatureKey ?? new Uint8Array(), verify),
    },
    { name: "an application message", bytes: message.message, parse: parseApplication },
    { name: "a Welcome", bytes: withAdds.staged.welcome ?? new Uint8Array(), parse: parseWelcome },
    { name: "a tree", bytes: withRemove.tree, parse: parseTree },
  ]
}
