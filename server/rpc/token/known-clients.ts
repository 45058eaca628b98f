// Clients that this process has found before. Their facts prove nothing by themselves: a statement that uses them
// compares their tag with the database's, so a client that was changed or revoked is found anew at its next call.
import type { TaggedClient } from "@signet/kernel/machine/ports"

const mostClients = 10_000

export interface KnownClients {
  find(clientId: string): TaggedClient | undefined
  remember(of: TaggedClient | undefined): void
  forget(clientId: string): void
}

export function createKnownClients(): KnownClients {
  const known = new Map<string, TaggedClient>()
  return {
    find: (clientId) => known.get(clientId),
    remember(of) {
      if (of === undefined) return
      const { clientId } = of.client.account
      known.delete(clientId)
      known.set(clientId, of)
      const [oldest] = known.keys()
      if (known.size > mostClients && oldest !== undefined) known.delete(oldest)
    },
    forget: (clientId) => known.delete(clientId),
  }
}
