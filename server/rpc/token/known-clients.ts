// Clients that this process has found before. Their facts prove nothing by themselves: a statement that uses them
// compares their tag with the database's, so a client that was changed or revoked is found anew at its next call.
import type { ContextId, TenantId } from "@signet/kernel/ids"
import type { TaggedClient } from "@signet/kernel/machine/ports"

const mostClients = 10_000

/** The facts of a client depend on the place that the call names. */
interface KnownAt {
  readonly clientId: string
  readonly tenantId?: TenantId | null
  readonly contextId?: ContextId | null
}

export interface KnownClients {
  find(of: KnownAt): TaggedClient | undefined
  /** Called after the client has proved its credential. */
  remember(of: KnownAt, found: TaggedClient | undefined): void
  forget(of: KnownAt): void
}

export function createKnownClients(): KnownClients {
  const known = new Map<string, TaggedClient>()
  return {
    find: (of) => known.get(keyOf(of)),
    remember(of, found) {
      if (found === undefined) return
      const key = keyOf(of)
      known.delete(key)
      known.set(key, found)
      const [oldest] = known.keys()
      if (known.size > mostClients && oldest !== undefined) known.delete(oldest)
    },
    forget: (of) => known.delete(keyOf(of)),
  }
}

const keyOf = ({ clientId, tenantId, contextId }: KnownAt): string =>
  JSON.stringify([clientId, tenantId ?? "", contextId ?? ""])
