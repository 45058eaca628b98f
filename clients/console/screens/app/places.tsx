import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PlaceStatus } from "@signet/proto/auth/v1/apps"
import type { Context } from "@signet/proto/auth/v1/contexts"
import type { Tenant } from "@signet/proto/auth/v1/tenants"
import { Dialog, enumName, Failed, Status, Time, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useList } from "../../ask.ts"
import { Named, useNames } from "../../names.tsx"
import { Field, Id, List } from "../../page.tsx"
import { Link } from "../../router.tsx"
import { t } from "../../text/screens.ts"
import { EditPlace } from "./edit-place.tsx"
import { PlaceActions } from "./place-actions.tsx"
import { usePlaceCounts } from "./place-counts.ts"

export function Tenants({ appId }: { appId: string }): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes, tenantId: own } = useAccess()
  const canWrite = scopes.has("auth.tenants.write")
  const [isCreating, setCreating] = useState(false)
  const list = useList(AppAuthService.method.listTenants, { appId, pageSize: 50 }, ({ tenants }) => tenants)
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
            cell: (one) => canWrite && <TenantActions tenant={one} isOwn={one.id === own} />,
          },
        ]}
      />
      {isCreating && (
        <NewPlace
          title={t.tenant.create}
          create={(name) => admin.createTenant({ appId, tenant: { name } })}
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
  const [isCreating, setCreating] = useState(false)
  const request = { appId, tenantId, pageSize: 50 }
  const list = useList(AppAuthService.method.listContexts, request, ({ contexts }) => contexts)
  const nameOf = useNames(
    appId,
    list.items.map((one) => one.tenantId),
  )
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
          {
            head: t.context.tenant,
            cell: ({ tenantId: id }) => id && <Named {...{ id, nameOf }} to={`/tenants/${id}`} />,
          },
          { head: t.app.status, cell: ({ status }) => <Status name={enumName(PlaceStatus, status)} /> },
          {
            head: "",
            cell: (one) => canWrite && <ContextActions context={one} />,
          },
        ]}
      />
      {isCreating && (
        <NewPlace
          title={t.context.create}
          contextOf={own ?? "any"}
          create={(name, type, tenant) => admin.createContext({ appId, context: { name, type, tenantId: tenant } })}
          onClose={() => setCreating(false)}
        />
      )}
    </>
  )
}

/** Buttons that rename, suspend, resume and archive a tenant. */
export function TenantActions({ tenant, isOwn }: { tenant: Tenant; isOwn: boolean }): ReactNode {
  const admin = useService(AppAuthService)
  const { appId, id: tenantId, name, status } = tenant
  const request = { appId, tenantId }
  const countsOf = usePlaceCounts(appId)
  return (
    <>
      {status !== PlaceStatus.ARCHIVED && (
        <EditPlace
          place={tenant}
          read={async () => (await admin.getTenant(request)).tenant}
          update={async (renamed, etag) =>
            (await admin.updateTenant({ ...request, tenant: { name: renamed, etag }, updateMask: nameOnly })).tenant
          }
        />
      )}
      <PlaceActions
        {...{ name, status, ends: isOwn ? t.tenant.ownEnds : t.tenant.ends }}
        count={countsOf({ tenantId })}
        suspend={() => admin.suspendTenant(request)}
        resume={() => admin.resumeTenant(request)}
        archive={() => admin.archiveTenant(request)}
      />
    </>
  )
}

function ContextActions({ context }: { context: Context }): ReactNode {
  const admin = useService(AppAuthService)
  const { appId, id: contextId, name, status } = context
  const request = { appId, contextId }
  const countsOf = usePlaceCounts(appId)
  return (
    <>
      {status !== PlaceStatus.ARCHIVED && (
        <EditPlace
          place={context}
          read={async () => (await admin.getContext(request)).context}
          update={async (renamed, etag) =>
            (await admin.updateContext({ ...request, context: { name: renamed, etag }, updateMask: nameOnly })).context
          }
        />
      )}
      <PlaceActions
        {...{ name, status, ends: t.context.ends }}
        count={countsOf({ contextId })}
        suspend={() => admin.suspendContext(request)}
        resume={() => admin.resumeContext(request)}
        archive={() => admin.archiveContext(request)}
      />
    </>
  )
}

const nameOnly = { paths: ["name"] }

interface NewPlaceProps {
  readonly title: string
  /** The tenant of a new context; "any" if the person chooses one. */
  readonly contextOf?: string
  readonly create: (name: string, type: string, tenantId: string) => Promise<unknown>
  readonly onClose: () => void
}

function NewPlace({ title, contextOf, create, onClose }: NewPlaceProps): ReactNode {
  const [name, setName] = useState("")
  const [type, setType] = useState("")
  const isContext = contextOf !== undefined
  const [tenantId, setTenantId] = useState(contextOf === undefined || contextOf === "any" ? "" : contextOf)
  const act = useAction(async () => {
    await create(name, type, tenantId)
    await changed()
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
