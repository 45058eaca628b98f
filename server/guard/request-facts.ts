import type { DescMethod, Message } from "@bufbuild/protobuf"
import { checksIn, type Requirement } from "@signet/kernel/authz/requirement"
import { fieldOf } from "./field.ts"
import type { CallFacts } from "./guard.ts"
import { factsReader, type TargetFacts } from "./request-values.ts"

/** Reads the facts of a call that its requirement needs. */
export type ReadFacts = (header: Headers, message: Message | undefined) => Promise<CallFacts>

/** Compiles the reader of a method, so that a call reads only the fields that its requirement names. */
export function readerOf(method: DescMethod, requirement: Requirement, options: TargetFacts): ReadFacts {
  const readFacts = factsReader(requirement, options)
  const fields = new Map(
    checksIn(requirement).flatMap((check) => {
      if (check.is !== "tenant" && check.is !== "resourceAction") return []
      // The transcoder writes path variables into message fields.
      if (check.from !== "PATH" && check.from !== "BODY") return []
      return [[check.field, fieldOf(method.input, check.field)] as const]
    }),
  )
  return (header, message) =>
    readFacts((from, field) => {
      if (from === "HEADER") return header.get(field) ?? undefined
      if (from !== "PATH" && from !== "BODY") return undefined
      return fields.get(field)?.(message)
    })
}
