import type { MessagingAccounts } from "@signet/kernel/messaging/ports"
import type { Clock, Store } from "@signet/kernel/ports"
import { sessionState } from "@signet/kernel/session/session"

/** The accounts of a messaging service that runs beside the auth service, read from its store. */
export function accountsOfStore(store: Store, clock: Clock): MessagingAccounts {
  return {
    activeUsers: store.members.activeUsers,
    async findSession(id) {
      const session = await store.transaction((tx) => tx.sessions.find(id))
      return session && { state: sessionState(session, clock.nowMs()), boundDeviceId: session.boundDeviceId }
    },
    audit: (events) =>
      store.transaction(async (tx) => {
        for (const event of events) await tx.audit.append(event)
      }),
  }
}
