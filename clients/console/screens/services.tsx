import {
  ClientAuthMethod,
  ServiceAccount_Status as Is,
  ServiceAccountService,
} from "@signet/proto/auth/v1/service_account_service"
import { Dialog, enumName, Failed, Status, Time, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../access.tsx"
import { changed, useList } from "../ask.ts"
import { Field, Id, List, Page, words } from "../page.tsx"
import { Link, navigate } from "../router.tsx"
import { t } from "../text/screens.ts"

export function Services(): ReactNode {
  const { scopes, reaches } = useAccess()
  const [isCreating, setCreating] = useState(false)
  const { listServiceAccounts } = ServiceAccountService.method
  const list = useList(listServiceAccounts, { pageSize: 50 }, ({ serviceAccounts }) => serviceAccounts)
  return (
    <Page
      title={t.services.title}
      about={t.services.about}
      actions={
        scopes.has("auth.service_accounts.write") &&
        reaches("tenant") && (
          <button type="button" className="signet-button signet-primary" onClick={() => setCreating(true)}>
            {t.services.create}
          </button>
        )
      }
    >
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.services.none}
        label={t.services.title}
        columns={[
          {
            head: t.service.name,
            cell: ({ id, name, clientId }) => (
              <>
                <Link to={`/services/${id}`}>{name || clientId}</Link>
                <Id of={clientId} />
              </>
            ),
          },
          { head: t.app.status, cell: ({ status }) => <Status name={enumName(Is, status)} /> },
          { head: t.service.calls, cell: ({ allowedAudiences }) => allowedAudiences.join(", ") },
          { head: t.service.scopes, cell: ({ scopes: of }) => of.join(", ") },
          { head: t.app.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
      {isCreating && <NewService onClose={() => setCreating(false)} />}
    </Page>
  )
}

function NewService({ onClose }: { onClose: () => void }): ReactNode {
  const machines = useService(ServiceAccountService)
  const [name, setName] = useState("")
  const [owned, setOwned] = useState("")
  const [allowed, setAllowed] = useState("")
  const [scopes, setScopes] = useState("")
  const create = useAction(async () => {
    const { serviceAccount } = await machines.createServiceAccount({
      name,
      authMethods: [ClientAuthMethod.CLIENT_SECRET_BASIC],
      ownedAudiences: words(owned),
      allowedAudiences: words(allowed),
      scopes: words(scopes),
    })
    await changed()
    navigate(`/services/${serviceAccount?.id}`)
  })
  return (
    <Dialog title={t.services.createTitle} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        <Field label={t.service.name} value={name} onChange={setName} isRequired />
        <Field
          label={t.service.calls}
          hint={t.service.callsHint}
          value={allowed}
          onChange={setAllowed}
          placeholder="svc-notes"
        />
        <Field label={t.service.owns} hint={t.service.ownsHint} value={owned} onChange={setOwned} />
        <Field label={t.service.scopes} hint={t.onePerLine} rows={3} value={scopes} onChange={setScopes} />
        <Failed error={create.error} />
        <div className="signet-actions">
          <button type="button" className="signet-button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" className="signet-button signet-primary" disabled={create.isPending}>
            {t.services.create}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
