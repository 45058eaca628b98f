import type { DescMethod, Message } from "@bufbuild/protobuf"
import type { RequestFacts } from "@signet/kernel/authz/authorize"
import type { ResourceRef } from "@signet/kernel/authz/grants"
import { checksIn, type Requirement, resourceKey, type Source, tenantKey } from "@signet/kernel/authz/requirement"
import type { AppId } from "@signet/kernel/ids"
import { fieldOf } from "./field.ts"

/** Looks a resource up in the store of the service that owns it; undefined when there is none. */
export type FindResource = (type: string, id: string) => Promise<ResourceRef | undefined>

/** What a call says of itself, as far as its requirement asks. */
export type ReadFacts = (header: Headers, message: Message | undefined) => Promise<RequestFacts>

type ReadText = (header: Headers, message: Message | undefined) => string | undefined

interface Named {
  readonly key: string
  readonly read: ReadText
}

/** Compiled once for a method, so that a call reads only what its requirement names. */
export function readerOf(
  method: DescMethod,
  requirement: Requirement,
  options: { readonly appId?: AppId; readonly findResource?: FindResource },
): ReadFacts {
  const base: RequestFacts = options.appId === undefined ? {} : { appId: options.appId }
  const checks = checksIn(requirement)
  const tenants = checks.flatMap((check): Named[] =>
    check.is === "tenant" ? [{ key: tenantKey(check), read: textOf(method, check.from, check.field) }] : [],
  )
  const resources = checks.flatMap((check): (Named & { type: string })[] =>
    check.is === "resourceAction"
      ? [{ key: resourceKey(check), type: check.type, read: textOf(method, check.from, check.field) }]
      : [],
  )
  if (tenants.length === 0 && resources.length === 0) return async () => base

  return async (header, message) => {
    const named = new Map<string, string>()
    for (const { key, read } of tenants) {
      const id = read(header, message)
      if (id !== undefined) named.set(key, id)
    }
    const found = new Map<string, ResourceRef>()
    for (const { key, type, read } of resources) {
      const id = read(header, message)
      const resource = id === undefined ? undefined : await options.findResource?.(type, id)
      if (resource !== undefined) found.set(key, resource)
    }
    return { ...base, tenants: named, resources: found }
  }
}

function textOf(method: DescMethod, from: Source, field: string): ReadText {
  switch (from) {
    case "HEADER":
      return (header) => header.get(field) ?? undefined
    case "PATH":
    case "BODY": {
      // A path variable is a field of the message: the transcoder wrote it there.
      const read = fieldOf(method.input, field)
      return (_, message) => (message === undefined ? undefined : read(message))
    }
    case "TOKEN":
    case "GRAPH":
      return () => undefined
  }
}
