import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PlaceStatus } from "@signet/proto/auth/v1/apps"
import { Membership_Status } from "@signet/proto/auth/v1/records"
import { Dialog, enumName, Failed, Status, Time, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useList } from "../../ask.ts"
import { Field, Id, List } from "../../page.tsx"
import { Link } from "../../router.tsx"
import { t } from "../../text/screens.ts"
import { PlaceActions } from "./place-actions.tsx"

/** Counts the active members of a place: those whose sessions end. More than a page is "200 or more". */
function useMemberCount(appId: string) {
  const admin = useService(AppAuthService)
  return async (at: { tenantId?: string; contextId?: string }): Promise<string> => {
    const status = Membership_Status.ACTIVE
    const { memberships, nextPageToken } = await admin.listMemberships({ appId, ...at, status, pageSize: 200 })
    return t.place.members(memberships.length, nextPageToken !== "")
  }
}

export function Tenants({ appId }: { appId: string }): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes, tenantId: own } = useAccess()
  const canWrite = scopes.has("auth.tenants.write")
  const countMembers = useMemberCount(appId)
  const [isCreating, setCreating] = useState(false)
  const list = useList(["tenants", appId], async (pageToken, signal) => {
    const page = await admin.listTenants({ appId, pageToken, pageSize: 50 }, { signal })
    return { items: page.tenants, nextPageToken: page.nextPageToken }
  })
  return (
    <>
      {canWrite && own === undefined && (
        <div className="buttons">
          <button type="button" className="signet-button" onClick={() => setCreating(true)}>
            {t.tenant.create}
          </button>
        </div>
      )}
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.tenant.none}
        label={t.app.tabs.tenants}
        columns={[
          {
            head: t.tenant.name,
            cell: ({ id, name }) => (
              <>
                <Link to={`/apps/${appId}/members/${id}`}>{name || id}</Link>
                <Id of={id} />
              </>
            ),
          },
          { head: t.app.status, cell: ({ status }) => <Status name={enumName(PlaceStatus, status)} /> },
          { head: t.app.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            head: "",
            cell: ({ id, name, status }) =>
              canWrite && (
                <PlaceActions
                  {...{ name, status, ends: id === own ? t.tenant.ownEnds : t.tenant.ends }}
                  count={() => countMembers({ tenantId: id })}
                  suspend={() => admin.suspendTenant({ appId, tenantId: id })}
                  resume={() => admin.resumeTenant({ appId, tenantId: id })}
                  archive={() => admin.archiveTenant({ appId, tenantId: id })}
                  onDone={() => changed("tenants", appId)}
                />
              ),
          },
        ]}
      />
      {isCreating && (
        <NewPlace
          title={t.tenant.create}
          create={(name) => admin.createTenant({ appId, tenant: { name } })}
          onDone={() => changed("tenants", appId)}
          onClose={() => setCreating(false)}
        />
      )}
    </>
  )
}

export function Contexts({ appId, tenantId }: { appId: string; tenantId: string }): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes, tenantId: own, reaches } = useAccess()
  const canWrite = scopes.has("auth.tenants.write")
  const countMembers = useMemberCount(appId)
  const [isCreating, setCreating] = useState(false)
  const list = useList(["contexts", appId, tenantId], async (pageToken, signal) => {
    const page = await admin.listContexts({ appId, tenantId, pageToken, pageSize: 50 }, { signal })
    return { items: page.contexts, nextPageToken: page.nextPageToken }
  })
  return (
    <>
      {canWrite && reaches("tenant") && (
        <div className="buttons">
          <button type="button" className="signet-button" onClick={() => setCreating(true)}>
            {t.context.create}
          </button>
        </div>
      )}
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.context.none}
        label={t.app.tabs.contexts}
        columns={[
          {
            head: t.tenant.name,
            cell: ({ id, name }) => (
              <>
                {name || id}
                <Id of={id} />
              </>
            ),
          },
          { head: t.context.type, cell: ({ type }) => type },
          { head: t.context.tenant, cell: (one) => one.tenantId },
          { head: t.app.status, cell: ({ status }) => <Status name={enumName(PlaceStatus, status)} /> },
          {
            head: "",
            cell: ({ id, name, status }) =>
              canWrite && (
                <PlaceActions
                  {...{ name, status, ends: t.context.ends }}
                  count={() => countMembers({ contextId: id })}
                  suspend={() => admin.suspendContext({ appId, contextId: id })}
                  resume={() => admin.resumeContext({ appId, contextId: id })}
                  archive={() => admin.archiveContext({ appId, contextId: id })}
                  onDone={() => changed("contexts", appId)}
                />
              ),
          },
        ]}
      />
      {isCreating && (
        <NewPlace
          title={t.context.create}
          contextOf={own ?? "any"}
          create={(name, type, tenant) => admin.createContext({ appId, context: { name, type, tenantId: tenant } })}
          onDone={() => changed("contexts", appId)}
          onClose={() => setCreating(false)}
        />
      )}
    </>
  )
}

interface NewPlaceProps {
  readonly title: string
  /** The tenant of a new context; "any" if the person chooses one. */
  readonly contextOf?: string
  readonly create: (name: string, type: string, tenantId: string) => Promise<unknown>
  readonly onDone: () => Promise<unknown>
  readonly onClose: () => void
}

function NewPlace({ title, contextOf, create, onDone, onClose }: NewPlaceProps): ReactNode {
  const [name, setName] = useState("")
  const [type, setType] = useState("")
  const isContext = contextOf !== undefined
  const [tenantId, setTenantId] = useState(contextOf === undefined || contextOf === "any" ? "" : contextOf)
  const act = useAction(async () => {
    await create(name, type, tenantId)
    await onDone()
    onClose()
  })
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          act.run()
        }}
      >
        <Field label={t.tenant.name} value={name} onChange={setName} isRequired />
        {isContext && <Field label={t.context.type} value={type} onChange={setType} isRequired placeholder="project" />}
        {contextOf === "any" && (
          <Field label={t.context.tenant} value={tenantId} onChange={setTenantId} placeholder="ten_…" />
        )}
        <Failed error={act.error} />
        <div className="signet-actions">
          <button type="button" className="signet-button" onClick={onClose}>
            {t.cancel}
          </button>
          <button type="submit" className="signet-button signet-primary" disabled={act.isPending}>
            {title}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
