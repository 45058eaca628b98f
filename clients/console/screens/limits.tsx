import type { Duration } from "@bufbuild/protobuf/wkt"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { type Lockout, Lockout_Kind } from "@signet/proto/auth/v1/limits"
import type { Principal } from "@signet/proto/auth/v1/records"
import { Confirm, Failed, Loading, Time, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../access.tsx"
import { changed, useList, useMethod } from "../ask.ts"
import { Named, useNames } from "../names.tsx"
import { Card, Id, List, Page } from "../page.tsx"
import { Link } from "../router.tsx"
import { t } from "../text/limits.ts"

/** The limits that refuse calls now, the locked principals, and the settings in force. */
export function Limits(): ReactNode {
  return (
    <Page title={t.title} about={t.about}>
      <Lockouts />
      <LockedPrincipals />
      <Settings />
    </Page>
  )
}

function Lockouts(): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes, appId } = useAccess()
  const list = useList(AppAuthService.method.listLockouts, {}, ({ lockouts }) => lockouts)
  const nameOf = useNames(
    appId,
    list.items.map(({ principalId }) => principalId),
  )
  const [lifting, setLifting] = useState<Lockout>()
  const lift = useAction(async ({ id: lockoutId }: Lockout) => {
    await admin.liftLockout({ lockoutId })
    setLifting(undefined)
    await changed()
  })
  const kindOf = ({ kind }: Lockout) => (kind === Lockout_Kind.LOCK ? t.lock : t.rateLimit)
  return (
    <Card
      title={t.lockouts}
      actions={
        <button type="button" className="signet-button" onClick={list.reload}>
          {t.reload}
        </button>
      }
    >
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.noLockout}
        label={t.lockouts}
        columns={[
          { head: t.limit, cell: (one) => <code>{one.name}</code> },
          { head: t.kind, cell: kindOf },
          { head: t.network, cell: ({ network }) => network || t.unknown },
          {
            head: t.principal,
            cell: ({ principalId }) =>
              principalId === "" ? t.nobody : <Named {...{ id: principalId, nameOf }} to={`/people/${principalId}`} />,
          },
          { head: t.since, cell: ({ refusedAt }) => <Time at={refusedAt} /> },
          { head: t.until, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            head: "",
            cell: (one) =>
              scopes.has("auth.principals.write") && (
                <button type="button" className="signet-button" onClick={() => setLifting(one)}>
                  {t.lift}
                </button>
              ),
          },
        ]}
      />
      {lifting && (
        <Confirm
          title={t.liftTitle}
          about={t.liftAbout(kindOf(lifting), lifting.name, lifting.network || t.unknown)}
          action={t.lift}
          error={lift.error}
          isPending={lift.isPending}
          onConfirm={() => lift.run(lifting)}
          onClose={() => {
            lift.clear()
            setLifting(undefined)
          }}
        />
      )}
    </Card>
  )
}

function LockedPrincipals(): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes } = useAccess()
  const list = useList(AppAuthService.method.listLockedPrincipals, {}, ({ principals }) => principals)
  const unlock = useAction(async ({ id: principalId }: Principal) => {
    await admin.unlockPrincipal({ principalId })
    await changed()
  })
  return (
    <Card title={t.locked}>
      <Failed error={unlock.error} />
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.noLocked}
        label={t.locked}
        columns={[
          { head: t.principal, cell: ({ id }) => <Link to={`/people/${id}`}>{<Id of={id} />}</Link> },
          { head: t.reason, cell: ({ lockReason }) => lockReason },
          { head: t.until, cell: ({ lockExpiresAt }) => <Time at={lockExpiresAt} /> },
          {
            head: "",
            cell: (one) =>
              scopes.has("auth.principals.write") && (
                <button
                  type="button"
                  className="signet-button"
                  disabled={unlock.isPending}
                  onClick={() => unlock.run(one)}
                >
                  {t.unlock}
                </button>
              ),
          },
        ]}
      />
    </Card>
  )
}

function Settings(): ReactNode {
  const { data, error, isPending, refetch } = useMethod(AppAuthService.method.getLimits)
  if (error) return <Failed error={error} retry={() => void refetch()} />
  if (isPending) return <Loading />
  return (
    <>
      {!data.enabled && <p className="notice">{t.disabled}</p>}
      <Card title={t.policies}>
        <ul className="rows">
          {data.lockoutPolicies.map(({ name, failures, period, firstLock, longestLock }) => (
            <li key={name}>
              <code>{name}</code>
              <span>{t.policy(failures, secondsOf(period), secondsOf(firstLock), secondsOf(longestLock))}</span>
            </li>
          ))}
        </ul>
      </Card>
      <Card title={t.settings}>
        <ul className="rows">
          {data.rateLimits.map(({ name, calls, period }) => (
            <li key={name}>
              <code>{name}</code>
              <span>{t.rate(calls, secondsOf(period))}</span>
            </li>
          ))}
        </ul>
      </Card>
    </>
  )
}

const secondsOf = (of: Duration | undefined): number => Number(of?.seconds ?? 0)
