import type { Store } from "@signet/kernel/ports"
import type { IsolationLevel } from "kysely"
import { appAdministration } from "./admin/app-administration.ts"
import { appCalls } from "./admin/app-calls.ts"
import { apps } from "./admin/apps.ts"
import { authorities } from "./admin/authority.ts"
import { contexts } from "./admin/contexts.ts"
import { grants } from "./admin/grants.ts"
import { findHeldAuthority } from "./admin/held-authority.ts"
import { invitations } from "./admin/invitations.ts"
import { memberCalls, members } from "./admin/members.ts"
import { places } from "./admin/places.ts"
import { principals } from "./admin/principals.ts"
import { roles } from "./admin/roles.ts"
import { tenants } from "./admin/tenants.ts"
import type { AuditLogDeps } from "./audit/audit-log-deps.ts"
import { accountAdministration } from "./identity/accounts.ts"
import { idTokenUses } from "./identity/id-token-uses.ts"
import { identities } from "./identity/identities.ts"
import { magicLinks } from "./identity/magic-links.ts"
import { passwordHolds } from "./identity/password-holds.ts"
import { people } from "./identity/people.ts"
import { signInCalls } from "./identity/sign-in-calls.ts"
import { signIns } from "./identity/sign-ins.ts"
import { takeTogether } from "./limits/count-several.ts"
import { limitRefusals } from "./limits/limit-refusals.ts"
import { limitCounts } from "./limits/limits.ts"
import { clientCalls } from "./machine/client-calls.ts"
import { envelopeKeys } from "./machine/envelope-keys.ts"
import { serviceAccounts } from "./machine/service-accounts.ts"
import { isMigrated, readMigrations } from "./migrate.ts"
import { retried } from "./retry.ts"
import { refreshCalls } from "./session/refresh-calls.ts"
import { refreshTokens } from "./session/refresh-tokens.ts"
import { sessionEndings } from "./session/session-endings.ts"
import { sessions } from "./session/sessions.ts"
import { type Database, run } from "./sql.ts"
import { delegations } from "./token/delegations.ts"
import { pats } from "./token/pats.ts"
import { assertionUses, revocations } from "./token/revocations.ts"
import { inTransaction } from "./transaction.ts"

interface StoreOptions {
  readonly audit: AuditLogDeps
  readonly isolationLevel?: IsolationLevel
  /** Called after revocations were committed. */
  readonly onRevoked?: () => void
}

/**
 * @param options.isolationLevel READ COMMITTED by default: the row locks are sufficient. SERIALIZABLE is correct too,
 *   for engines that have nothing else.
 */
export function createStore(db: Database, options: StoreOptions): Store {
  const { audit, isolationLevel = "read committed", onRevoked } = options
  const migrations = readMigrations()
  // The error is thrown where the migrations are awaited.
  migrations.catch(() => {})
  const limits = limitCounts(db)
  const transactions = { isolationLevel, audit, onRevoked }
  return {
    limits: {
      take: takeTogether(
        (text, values) => retried(() => run(db, text, values)),
        (...of) => retried(() => limits.take(...of)),
      ),
      giveBack: (...of) => retried(() => limits.giveBack(...of)),
      fail: (...of) => retried(() => limits.fail(...of)),
    },
    limitRefusals: { note: (refusal) => retried(() => limitRefusals(db).note(refusal)) },

    clients: clientCalls(db, transactions),
    refreshes: refreshCalls(db, transactions),
    signIns: signInCalls(db, transactions),
    apps: appCalls(db),
    members: memberCalls(db),

    transaction: (work) =>
      retried(() =>
        inTransaction(db, transactions, (trx, audit) =>
          work({
            apps: apps(trx),
            identities: identities(trx),
            sessions: sessions(trx),
            refreshTokens: refreshTokens(trx),
            signIns: signIns(trx, audit),
            idTokenUses: idTokenUses(trx),
            magicLinks: magicLinks(trx),
            pats: pats(trx),
            serviceAccounts: serviceAccounts(trx),
            envelopeKeys: envelopeKeys(trx),
            delegations: delegations(trx),
            revocations: revocations(trx),
            assertionUses: assertionUses(trx),
            principals: principals(trx),
            authorities: { ...authorities(trx), findOf: findHeldAuthority(trx) },
            limits: limitCounts(trx),
            limitRefusals: limitRefusals(trx),
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
