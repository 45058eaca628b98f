import {
  ServiceAccount_Status as Is,
  ServiceSecret_Status as SecretIs,
  type ServiceAccount,
  ServiceAccountService,
  type ServiceSecret,
} from "@signet/proto/auth/v1/service_account_service"
import {
  Confirm,
  Dialog,
  enumName,
  Failed,
  Loading,
  ShownOnce,
  Status,
  Time,
  useAction,
  useService,
} from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../access.tsx"
import { changed, useMethod } from "../ask.ts"
import { Card, Facts, Id, Page } from "../page.tsx"
import { Link, useRoute } from "../router.tsx"
import { t as counted } from "../text/counted.ts"
import { t } from "../text/screens.ts"

/** One service account with its secrets. */
export function Service(): ReactNode {
  const { parts } = useRoute()
  const serviceAccountId = parts[1] ?? ""
  const { scopes } = useAccess()
  const { data, error, refetch } = useMethod(ServiceAccountService.method.getServiceAccount, { serviceAccountId })
  if (error) return <Failed error={error} retry={() => void refetch()} />
  if (data?.serviceAccount === undefined) return <Loading />
  const account = data.serviceAccount
  const canWrite = scopes.has("auth.service_accounts.write")
  return (
    <Page
      title={account.name || account.clientId}
      about={<Id of={account.id} />}
      under={{ to: "/services", name: t.services.title }}
      actions={canWrite && <Switch account={account} secrets={data.secrets} />}
    >
      <Card title={t.service.account}>
        <Facts
          of={[
            [t.app.status, <Status key="status" name={enumName(Is, account.status)} />],
            [t.service.clientId, <Id key="client" of={account.clientId} />],
            [
              t.service.principal,
              <Link key="principal" to={`/people/${account.principalId}`}>
                {account.principalId}
              </Link>,
            ],
            [t.service.calls, account.allowedAudiences.join(", ")],
            [t.service.owns, account.ownedAudiences.join(", ")],
            [t.service.scopes, account.scopes.join(", ")],
            [t.app.since, <Time key="since" at={account.createdAt} />],
          ]}
        />
      </Card>
      <Secrets account={account} secrets={data.secrets} canWrite={canWrite} />
    </Page>
  )
}

const activeOf = (secrets: readonly ServiceSecret[]): number =>
  secrets.filter(({ status }) => status === SecretIs.ACTIVE).length

interface SecretsProps {
  readonly account: ServiceAccount
  readonly secrets: readonly ServiceSecret[]
  readonly canWrite: boolean
}

function Secrets({ account, secrets, canWrite }: SecretsProps): ReactNode {
  const machines = useService(ServiceAccountService)
  const [shown, setShown] = useState<string>()
  const [revoking, setRevoking] = useState<ServiceSecret>()
  const add = useAction(async () => {
    const { secret } = await machines.addSecret({ serviceAccountId: account.id })
    setShown(secret)
    await changed()
  })
  const revoke = useAction(async ({ id }: ServiceSecret) => {
    await machines.revokeSecret({ serviceAccountId: account.id, secretId: id })
    setRevoking(undefined)
    await changed()
  })
  return (
    <Card
      title={t.service.secrets}
      actions={
        canWrite && (
          <button type="button" className="signet-button" disabled={add.isPending} onClick={() => add.run()}>
            {t.service.add}
          </button>
        )
      }
    >
      <p className="signet-muted">{t.service.secretsAbout}</p>
      <Failed error={add.error} />
      {secrets.length === 0 && <p className="empty">{t.service.noSecret}</p>}
      <ul className="rows">
        {secrets.map((secret) => (
          <li key={secret.id}>
            <div>
              <code>…{secret.hint}</code> <Status name={enumName(SecretIs, secret.status)} />
              <span className="signet-id">{secret.id}</span>
              <span className="signet-muted line">
                {t.service.expires} <Time at={secret.expiresAt} none={t.grant.never} /> · {t.service.lastUsed}{" "}
                <Time at={secret.lastUsedAt} none={t.service.unused} />
              </span>
            </div>
            {canWrite && secret.status === SecretIs.ACTIVE && (
              <button type="button" className="signet-button" onClick={() => setRevoking(secret)}>
                {t.service.revoke}
              </button>
            )}
          </li>
        ))}
      </ul>
      {shown !== undefined && (
        <Dialog title={t.service.created} onClose={() => setShown(undefined)}>
          <ShownOnce label={t.service.secret} secret={shown} />
          <div className="signet-actions">
            <button type="button" className="signet-button signet-primary" onClick={() => setShown(undefined)}>
              {t.close}
            </button>
          </div>
        </Dialog>
      )}
      {revoking && (
        <Confirm
          title={t.service.revokeTitle}
          about={
            <>
              <p>{t.service.revokeAbout(revoking.hint)}</p>
              <p>{counted.otherSecrets(activeOf(secrets) - 1)}</p>
            </>
          }
          action={t.service.revoke}
          error={revoke.error}
          isPending={revoke.isPending}
          onConfirm={() => revoke.run(revoking)}
          onClose={() => {
            revoke.clear()
            setRevoking(undefined)
          }}
        />
      )}
    </Card>
  )
}

/** Disables the account, or enables it again. */
function Switch({ account, secrets }: Pick<SecretsProps, "account" | "secrets">): ReactNode {
  const machines = useService(ServiceAccountService)
  const [isAsking, setAsking] = useState(false)
  const request = { serviceAccountId: account.id }
  const act = useAction(async () => {
    if (account.status === Is.ACTIVE) await machines.disableServiceAccount(request)
    else await machines.enableServiceAccount(request)
    setAsking(false)
    await changed()
  })
  const isActive = account.status === Is.ACTIVE
  return (
    <>
      {!isAsking && <Failed error={act.error} />}
      <button type="button" className="signet-button" onClick={() => (isActive ? setAsking(true) : void act.run())}>
        {isActive ? t.service.disable : t.service.enable}
      </button>
      {isAsking && (
        <Confirm
          title={t.service.disableTitle(account.name)}
          about={t.service.disableAbout(activeOf(secrets))}
          action={t.service.disable}
          error={act.error}
          isPending={act.isPending}
          onConfirm={() => act.run()}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}
