import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { AuditService } from "@signet/proto/auth/v1/audit_service"
import {
  Principal_Status as Is,
  Provider,
  type ProviderAccount,
  ProviderAccount_Status,
} from "@signet/proto/auth/v1/records"
import { PrincipalKind } from "@signet/proto/authz/v1/context"
import { enumName, Failed, Loading, Status, Time } from "@signet/react/core"
import { Members } from "@signet/react/members"
import type { ReactNode } from "react"
import { useAccess } from "../../access.tsx"
import { skipToken, useList, useMethod } from "../../ask.ts"
import { useNames } from "../../names.tsx"
import { Card, Facts, Id, List, Page } from "../../page.tsx"
import { Link, useRoute } from "../../router.tsx"
import { t } from "../../text/screens.ts"
import { useEventColumns } from "../audit-columns.tsx"
import { Grants } from "../grants/grants.tsx"
import { DevicesOf } from "./devices-of.tsx"
import { PrincipalActions, ProviderAccountAction } from "./principal-actions.tsx"
import { SessionsOf } from "./sessions-of.tsx"

/** One person: identity, memberships, grants, and what happened. */
export function Person(): ReactNode {
  const { parts } = useRoute()
  const principalId = parts[1] ?? ""
  const { appId, isInstallation, scopes, reaches } = useAccess()
  const { name: title, places } = useMemberships(appId, principalId)
  const nameOf = useNames(appId, places)
  return (
    <Page title={title} about={<Id of={principalId} />} under={{ to: "/people", name: t.people.title }}>
      {isInstallation ? <Identity principalId={principalId} /> : <p className="notice">{t.person.installationOnly}</p>}
      {scopes.has("auth.members.read") && (
        <Card title={t.person.memberships}>
          <Members {...{ appId, principalId }} linkTo={({ tenantId, contextId }) => nameOf(contextId || tenantId)} />
        </Card>
      )}
      {scopes.has("auth.grants.read") && (
        <Card title={t.person.grants}>
          <Grants appId={appId} principalId={principalId} />
        </Card>
      )}
      {scopes.has("auth.members.read") && <SessionsOf principalId={principalId} />}
      {reaches("tenant") && <DevicesOf principalId={principalId} />}
      {scopes.has("auth.audit.read") && <Events principalId={principalId} />}
    </Page>
  )
}

/** The name of a person in the app, or a general title for a person without one; and the person's places. */
function useMemberships(appId: string, principalId: string): { name: string; places: readonly string[] } {
  const { scopes } = useAccess()
  // The list of devices asks the same, and shares the answer.
  const request = { appId, principalId, pageSize: 200 }
  const { listMemberships } = AppAuthService.method
  const { data } = useMethod(listMemberships, scopes.has("auth.members.read") ? request : skipToken)
  const profile = data?.memberships.find((one) => one.profile?.name)?.profile ?? data?.memberships[0]?.profile
  const places = data?.memberships.map(({ tenantId, contextId }) => contextId || tenantId) ?? []
  return { name: profile?.name || profile?.email || t.person.title, places }
}

function Identity({ principalId }: { principalId: string }): ReactNode {
  const { data, error, refetch } = useMethod(AppAuthService.method.getPrincipal, { principalId })
  if (error) return <Failed error={error} retry={() => void refetch()} />
  if (data === undefined) return <Loading />
  const { principal, identity, providerAccounts } = data
  if (principal === undefined) return null
  return (
    <>
      <Card title={t.person.identity} actions={<PrincipalActions principal={principal} />}>
        <Facts
          of={[
            [t.person.email, identity?.primaryEmail],
            [t.person.status, <Status key="status" name={enumName(Is, principal.status)} />],
            [t.person.lockedUntil, principal.lockExpiresAt && <Time key="until" at={principal.lockExpiresAt} />],
            [t.person.lockReason, principal.lockReason],
            [t.person.kind, enumName(PrincipalKind, principal.kind)],
            [t.person.identityId, identity && <Id key="id" of={identity.id} />],
            [t.person.since, <Time key="since" at={identity?.createdAt} />],
          ]}
        />
      </Card>
      <Card title={t.person.accounts}>
        <ul className="rows">
          {providerAccounts.map((account) => (
            <li key={account.id}>
              <Account account={account} principalId={principalId} />
            </li>
          ))}
        </ul>
      </Card>
    </>
  )
}

function Account({ account, principalId }: { account: ProviderAccount; principalId: string }): ReactNode {
  return (
    <>
      <div>
        <span className="strong">{account.email || account.subject}</span>{" "}
        <Status name={enumName(ProviderAccount_Status, account.status)} />
        <span className="signet-id">{`${enumName(Provider, account.provider)} · ${account.issuer} · ${account.subject}`}</span>
      </div>
      <ProviderAccountAction account={account} principalId={principalId} />
    </>
  )
}

function Events({ principalId }: { principalId: string }): ReactNode {
  const { listAuditEvents } = AuditService.method
  const list = useList(listAuditEvents, { principalId, pageSize: 10 }, ({ auditEvents }) => auditEvents)
  const { appId } = useAccess()
  const columns = useEventColumns(list.items, appId)
  return (
    <Card title={t.person.events} actions={<Link to={`/audit?principal=${principalId}`}>{t.person.allEvents}</Link>}>
      <List list={list} columns={columns} keyOf={({ id }) => id} none={t.audit.none} label={t.person.events} />
    </Card>
  )
}
