import type { Store } from "@signet/kernel/ports"
import type { IsolationLevel } from "kysely"
import { accountAdministration } from "./accounts.ts"
import { appAdministration } from "./app-administration.ts"
import { apps } from "./apps.ts"
import type { AuditWriting } from "./audit-writing.ts"
import { authorities } from "./authority.ts"
import { clientCalls } from "./client-calls.ts"
import { contexts } from "./contexts.ts"
import { delegations } from "./delegations.ts"
import { envelopeKeys } from "./envelope-keys.ts"
import { grants } from "./grants.ts"
import { idTokenUses } from "./id-token-uses.ts"
import { identities } from "./identities.ts"
import { invitations } from "./invitations.ts"
import { limitCounts } from "./limits.ts"
import { magicLinks } from "./magic-links.ts"
import { members } from "./members.ts"
import { isMigrated, readMigrations } from "./migrate.ts"
import { passwordHolds } from "./password-holds.ts"
import { pats } from "./pats.ts"
import { people } from "./people.ts"
import { places } from "./places.ts"
import { principals } from "./principals.ts"
import { refreshTokens } from "./refresh-tokens.ts"
import { retried } from "./retry.ts"
import { assertionUses, revocations } from "./revocations.ts"
import { roles } from "./roles.ts"
import { serviceAccounts } from "./service-accounts.ts"
import { sessionEndings } from "./session-endings.ts"
import { sessions } from "./sessions.ts"
import type { Database } from "./sql.ts"
import { tenants } from "./tenants.ts"
import { inTransaction } from "./transaction.ts"

export interface StoreOptions {
  readonly audit: AuditWriting
  readonly isolationLevel?: IsolationLevel
  /** Called when revocations were committed. */
  readonly onRevoked?: () => void
}

/**
 * @param options.isolationLevel READ COMMITTED unless told otherwise; the row locks are enough for it, and everything
 *   also holds on engines that only have SERIALIZABLE.
 */
export function createStore(db: Database, options: StoreOptions): Store {
  const { audit, isolationLevel = "read committed", onRevoked } = options
  const migrations = readMigrations()
  // Told when somebody asks, not before.
  migrations.catch(() => {})
  const limits = limitCounts(db)
  const transactions = { isolationLevel, audit, onRevoked }
  return {
    limits: {
      take: (...of) => retried(() => limits.take(...of)),
      giveBack: (...of) => retried(() => limits.giveBack(...of)),
      fail: (...of) => retried(() => limits.fail(...of)),
    },

    clients: clientCalls(db, transactions),

    transaction: (work) =>
      retried(() =>
        inTransaction(db, transactions, (trx, audit) =>
          work({
            apps: apps(trx),
            identities: identities(trx),
            sessions: sessions(trx),
            refreshTokens: refreshTokens(trx),
            idTokenUses: idTokenUses(trx),
            magicLinks: magicLinks(trx),
            pats: pats(trx),
            serviceAccounts: serviceAccounts(trx),
            envelopeKeys: envelopeKeys(trx),
            delegations: delegations(trx),
            revocations: revocations(trx),
            assertionUses: assertionUses(trx),
            principals: principals(trx),
            authorities: authorities(trx),
            limits: limitCounts(trx),
            audit,
            administration: appAdministration(trx),
            places: places(trx),
            tenants: tenants(trx),
            contexts: contexts(trx),
            members: members(trx),
            invitations: invitations(trx),
            roles: roles(trx),
            grants: grants(trx),
            accounts: accountAdministration(trx),
            endings: sessionEndings(trx),
            people: people(trx),
            passwordHolds: passwordHolds(trx),
          }),
        ),
      ),

    isReady: async () => isMigrated(db, await migrations),
  }
}
