import type { DescMethod, Message } from "@bufbuild/protobuf"
import { checksIn, type Requirement } from "@signet/kernel/authz/requirement"
import { fieldOf } from "./field.ts"
import type { CallFacts } from "./guard.ts"
import { factsReader, type TargetFacts } from "./request-values.ts"

/** What a call says of itself, as far as its requirement asks. */
export type ReadFacts = (header: Headers, message: Message | undefined) => Promise<CallFacts>

/** Compiled once for a method, so that a call reads only what its requirement names. */
export function readerOf(method: DescMethod, requirement: Requirement, options: TargetFacts): ReadFacts {
  const readFacts = factsReader(requirement, options)
  const fields = new Map(
    checksIn(requirement).flatMap((check) => {
      if (check.is !== "tenant" && check.is !== "resourceAction") return []
      // A path variable is a field of the message: the transcoder wrote it there.
      if (check.from !== "PATH" && check.from !== "BODY") return []
      return [[check.field, fieldOf(method.input, check.field)] as const]
    }),
  )
  return (header, message) =>
    readFacts((from, field) => {
      if (from === "HEADER") return header.get(field) ?? undefined
      if (from !== "PATH" && from !== "BODY") return undefined
      return message === undefined ? undefined : fields.get(field)?.(message)
    })
}
