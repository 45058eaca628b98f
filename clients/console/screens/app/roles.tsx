import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Grant_Status } from "@signet/proto/auth/v1/grants"
import { GrantLevel, Role_Status as Is, type Role } from "@signet/proto/auth/v1/roles"
import { amountOf, Confirm, Counted, enumName, Failed, Status, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed, skipToken, useList } from "../../ask.ts"
import { EditDialog } from "../../edit-dialog.tsx"
import { Field, List, words } from "../../page.tsx"
import { Link } from "../../router.tsx"
import { t as counted } from "../../text/counted.ts"
import { t } from "../../text/screens.ts"
import { useEdit } from "../../use-edit.ts"
import { keyPrefixOf, RoleSearch, useSettled } from "../role-search.tsx"

export function Roles({ appId }: { appId: string }): ReactNode {
  const { scopes, tenantId: own, reaches } = useAccess()
  const canWrite = scopes.has("auth.roles.write") && reaches("tenant")
  /** A tenant's administrator reads the app's roles, and changes the tenant's own. */
  const isOwn = ({ tenantId }: Role) => own === undefined || tenantId === own
  const [editing, setEditing] = useState<Role | "new">()
  const [archiving, setArchiving] = useState<Role>()
  const [typed, setTyped] = useState("")
  const keyPrefix = keyPrefixOf(useSettled(typed))
  const request = keyPrefix === undefined ? skipToken : { appId, keyPrefix, pageSize: 50 }
  const list = useList(AppAuthService.method.listRoles, request, ({ roles }) => roles)
  return (
    <>
      <div className="bar">
        <RoleSearch typed={typed} onType={setTyped} />
      </div>
      {canWrite && (
        <div className="buttons">
          <button type="button" className="signet-button" onClick={() => setEditing("new")}>
            {t.role.create}
          </button>
        </div>
      )}
      <List
        list={list}
        keyOf={({ id }) => id}
        none={typed === "" ? t.role.none : t.role.noneFound}
        label={t.app.tabs.roles}
        columns={[
          {
            head: t.role.key,
            cell: ({ id, key, description }) => (
              <>
                {scopes.has("auth.grants.read") ? (
                  <Link to={`/apps/${appId}/grants/${id}`}>
                    <code>{key}</code>
                  </Link>
                ) : (
                  <code>{key}</code>
                )}
                <span className="signet-muted line">{description}</span>
              </>
            ),
          },
          { head: t.role.permissions, cell: ({ permissions }) => permissions.join(", ") },
          { head: t.role.inheritable, cell: ({ inheritable }) => (inheritable ? t.yes : t.no) },
          {
            head: t.role.levels,
            cell: ({ assignableAt }) => assignableAt.map((one) => enumName(GrantLevel, one)).join(", ") || t.role.all,
          },
          { head: t.app.status, cell: ({ status }) => <Status name={enumName(Is, status)} /> },
          {
            head: "",
            cell: (role) =>
              canWrite &&
              isOwn(role) &&
              role.status === Is.ACTIVE && (
                <>
                  <button type="button" className="signet-button" onClick={() => setEditing(role)}>
                    {t.edit.edit}
                  </button>
                  <button type="button" className="signet-button" onClick={() => setArchiving(role)}>
                    {t.role.archive}
                  </button>
                </>
              ),
          },
        ]}
      />
      {editing && (
        <RoleForm appId={appId} role={editing === "new" ? undefined : editing} onClose={() => setEditing(undefined)} />
      )}
      {archiving && <Archive appId={appId} role={archiving} onClose={() => setArchiving(undefined)} />}
    </>
  )
}

/** Says how many grants end with the role. */
function Archive({ appId, role, onClose }: { appId: string; role: Role; onClose: () => void }): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes } = useAccess()
  const count = async (signal: AbortSignal) => {
    if (!scopes.has("auth.grants.read")) throw new Error("the token may not read grants")
    const { grants, nextPageToken } = await admin.listGrants({ appId, roleId: role.id, pageSize: 200 }, { signal })
    const active = grants.filter(({ status }) => status === Grant_Status.ACTIVE)
    return counted.grants(amountOf(active, nextPageToken))
  }
  const archive = useAction(async () => {
    await admin.archiveRole({ appId, roleId: role.id })
    await changed()
    onClose()
  })
  return (
    <Confirm
      title={t.role.archiveTitle(role.key)}
      about={<Counted about={t.role.archiveAbout} count={count} />}
      action={t.role.archive}
      word={role.key}
      error={archive.error}
      isPending={archive.isPending}
      onConfirm={() => archive.run()}
      onClose={onClose}
    />
  )
}

const formOf = (role: Role | undefined) => ({
  key: role?.key ?? "",
  description: role?.description ?? "",
  permissions: role?.permissions.join("\n") ?? "",
  inheritable: role?.inheritable ?? true,
})

function RoleForm({ appId, role, onClose }: { appId: string; role: Role | undefined; onClose: () => void }): ReactNode {
  const admin = useService(AppAuthService)
  const { tenantId = "" } = useAccess()
  const edit = useEdit(role, {
    formOf,
    read: async () => (await admin.getRole({ appId, roleId: role?.id ?? "" })).role,
    async save(opened, form, fields) {
      const { key, ...typed } = form
      const values = { ...typed, permissions: words(form.permissions) }
      if (opened === undefined) return (await admin.createRole({ appId, role: { ...values, key, tenantId } })).role
      const { id: roleId, etag } = opened
      const request = { appId, roleId, role: { ...values, etag }, updateMask: { paths: [...fields] } }
      return (await admin.updateRole(request)).role
    },
    async onSaved() {
      await changed()
      onClose()
    },
  })
  const { form, set } = edit
  return (
    <EditDialog {...{ edit, onClose }} title={role === undefined ? t.role.create : t.edit.of(role.key)}>
      {role === undefined && (
        <Field label={t.role.key} value={form.key} onChange={(key) => set({ key })} isRequired placeholder="editor" />
      )}
      <Field label={t.role.description} value={form.description} onChange={(description) => set({ description })} />
      <Field
        label={t.role.permissions}
        hint={t.onePerLine}
        rows={5}
        value={form.permissions}
        onChange={(permissions) => set({ permissions })}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={form.inheritable}
          onChange={(event) => set({ inheritable: event.target.checked })}
        />
        {t.role.inherits}
      </label>
    </EditDialog>
  )
}

export function Permissions({ appId }: { appId: string }): ReactNode {
  const admin = useService(AppAuthService)
  const { scopes, reaches } = useAccess()
  const [key, setKey] = useState("")
  const [description, setDescription] = useState("")
  const { listPermissions } = AppAuthService.method
  const list = useList(listPermissions, { appId, pageSize: 50 }, ({ permissions }) => permissions)
  const create = useAction(async () => {
    await admin.createPermission({ appId, permission: { key, description } })
    setKey("")
    setDescription("")
    await changed()
  })
  return (
    <>
      {scopes.has("auth.roles.write") && reaches("app") && (
        <form
          className="bar"
          onSubmit={(event) => {
            event.preventDefault()
            create.run()
          }}
        >
          <Field label={t.permission.key} value={key} onChange={setKey} isRequired placeholder="notes.note.edit" />
          <Field label={t.role.description} value={description} onChange={setDescription} />
          <button type="submit" className="signet-button" disabled={create.isPending}>
            {t.permission.create}
          </button>
        </form>
      )}
      <Failed error={create.error} />
      <List
        list={list}
        keyOf={({ id }) => id}
        none={t.permission.none}
        label={t.app.tabs.permissions}
        columns={[
          { head: t.permission.key, cell: (one) => <code>{one.key}</code> },
          { head: t.role.description, cell: (one) => one.description },
        ]}
      />
    </>
  )
}
