import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { ProviderClient_Status as Is, type ProviderClient } from "@signet/proto/auth/v1/provider_clients"
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { Confirm, Counted, enumName, Failed, Status, upTo1000, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useList } from "../../ask.ts"
import { Id, List } from "../../page.tsx"
import { t as counted } from "../../text/counted.ts"
import { t } from "../../text/screens.ts"
import { EditConnection } from "./edit-connection.tsx"
import { NewConnection } from "./new-connection.tsx"

/** The app's clients at identity providers. */
export function Connections({ appId }: { appId: string }): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes } = useAccess()
  const canWrite = scopes.has("auth.apps.write")
  const [isCreating, setCreating] = useState(false)
  const [editing, setEditing] = useState<ProviderClient>()
  const [disabling, setDisabling] = useState<ProviderClient>()
  const { listProviderClients } = AppAuthService.method
  const list = useList(listProviderClients, { appId, pageSize: 50 }, ({ providerClients }) => providerClients)
  const act = useAction(async ({ id, status }: ProviderClient) => {
    const request = { appId, providerClientId: id }
    if (status === Is.ACTIVE) await admin.disableProviderClient(request)
    else await admin.enableProviderClient(request)
    setDisabling(undefined)
    await changed()
  })
  const othersOf = ({ id }: ProviderClient) =>
    list.items.filter((one) => one.status === Is.ACTIVE && one.id !== id).length
  const nameOf = (one: ProviderClient) => one.displayName || one.connection || enumName(Provider, one.provider)
  return (
    <>
      {canWrite && (
        <div className="buttons">
          <button type="button" className="signet-button" onClick={() => setCreating(true)}>
            {t.connection.create}
          </button>
        </div>
      )}
      {disabling === undefined && <Failed error={act.error} />}
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.connection.none}
        label={t.app.tabs.connections}
        columns={[
          {
            head: t.connection.name,
            cell: (one) => (
              <>
                {nameOf(one)}
                <Id of={one.connection || t.connection.byDefault} />
              </>
            ),
          },
          {
            head: t.connection.provider,
            cell: ({ provider, platform }) => `${enumName(Provider, provider)} · ${enumName(Platform, platform)}`,
          },
          { head: t.connection.issuer, cell: ({ issuers }) => issuers.join(", ") },
          { head: t.connection.clientId, cell: ({ clientId }) => clientId },
          { head: t.connection.secret, cell: ({ hasClientSecret }) => (hasClientSecret ? t.connection.stored : "–") },
          { head: t.app.status, cell: ({ status }) => <Status name={enumName(Is, status)} /> },
          {
            head: "",
            cell: (one) =>
              canWrite && (
                <>
                  <button type="button" className="signet-button" onClick={() => setEditing(one)}>
                    {t.edit.edit}
                  </button>
                  <button
                    type="button"
                    className="signet-button"
                    onClick={() => (one.status === Is.ACTIVE ? setDisabling(one) : void act.run(one))}
                  >
                    {one.status === Is.ACTIVE ? t.connection.disable : t.connection.enable}
                  </button>
                </>
              ),
          },
        ]}
      />
      {isCreating && <NewConnection appId={appId} onClose={() => setCreating(false)} />}
      {editing && (
        <EditConnection
          {...{ appId, connection: editing, name: nameOf(editing) }}
          onClose={() => setEditing(undefined)}
        />
      )}
      {disabling && (
        <Confirm
          title={t.connection.disableTitle(nameOf(disabling))}
          about={
            <>
              <Counted
                about={t.connection.disableAbout}
                count={async (signal) => {
                  const request = { appId, providerClientId: disabling.id }
                  const { activeSessions } = await admin.getProviderClient(request, { signal })
                  return counted.sessionsOfConnection(upTo1000(activeSessions))
                }}
              />
              <p>{counted.otherConnections(othersOf(disabling))}</p>
            </>
          }
          action={t.connection.disable}
          error={act.error}
          isPending={act.isPending}
          onConfirm={() => act.run(disabling)}
          onClose={() => {
            act.clear()
            setDisabling(undefined)
          }}
        />
      )}
    </>
  )
}
